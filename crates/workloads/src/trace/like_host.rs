//! `like-host`: goes on as a host did while it was recorded, for as long as one wants.
//!
//! The recording is replayed over and over: a look of half a minute stands for the minutes after it. Also here: the same beside any
//! other program, so that the program is not alone ([`Beside`]).

use order9_units::Nanos;

use super::holdings::Holdings;
use super::{FREED_FIRST, MEASURES, REPLAYERS, Replay, replay_all};
use crate::demand::{Chosen, Demand};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, Flag, Stop, Sys};
use crate::trace::{Quota, Recording};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "like-host",
    summary: "goes on as a host did while it was recorded",
    description: "\
        Replays a short recording of `order9 record` over and over, as `trace` replays it once: memory of programs, page cache and \
        memory of the kernel come and go at the rates of the recording, second by second, from the memory that the run starts with. \
        What the recording does not tell stays unknown: who held what, and how it was used. Measured are the huge pages that memory \
        gave, beside those recorded, and the times of their faults.",
    parameters: &[PROFILE, TIME, REPLAYERS, FREED_FIRST],
    measures: MEASURES,
    settings: |_| &[],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PROFILE: Parameter = Parameter {
    key: "profile",
    meaning: "recording that is replayed over and over, a directory of `order9 record`",
    kind: Kind::Recording,
    default: |_| Value::Recording(Recording::example()),
    default_text: "ten seconds that are made up",
};

const TIME: Parameter = Parameter {
    key: "time",
    meaning: "time for which it goes on",
    kind: Kind::Time,
    default: |_| Value::Time(Nanos::new(60_000_000_000)),
    default_text: "60s",
};

/// The parameter that has a recording replayed beside any program.
pub(crate) const BESIDE: Parameter = Parameter {
    key: "beside",
    meaning: "recording that others replay over and over until the program ends, a directory of `order9 record`",
    kind: Kind::Recording,
    default: |_| Value::Recording(Recording::example()),
    default_text: "none",
};

fn demand(of: &Chosen<'_>) -> Demand {
    let (recording, time) = (of.parameters.recording(PROFILE.key), of.time(TIME.key));
    let once = recording.intervals().iter().map(|interval| Quota::of(interval).steps()).fold(0, u64::saturating_add);
    let steps = u128::from(once) * u128::from(time.get()) / u128::from(recording.length().get().max(1));
    Demand { steps: u64::try_from(steps).unwrap_or(u64::MAX), time, ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    replay_all(sys, parameters, PROFILE.key, Some(parameters.time(TIME.key))).await
}

/// Others that replay a recording while a program runs.
pub(crate) struct Beside<S: Sys> {
    child: S::Child,
    /// Up once the program has ended.
    ended: Flag,
}

impl<S: Sys> Beside<S> {
    /// Starts what was chosen; `None` where nothing was.
    pub(crate) async fn start(sys: &S, parameters: &Parameters) -> Result<Option<Self>, Stop> {
        let Some(recording) = parameters.chosen_recording(BESIDE.key).cloned() else { return Ok(None) };
        let ended = Flag::new(sys)?;
        let told = ended.clone();
        let body = move |sys: S| async move {
            let mut holdings = Holdings::new(sys.clone(), true).silent();
            let replay = Replay { intervals: recording.intervals().iter().cycle(), begin: sys.now(), share: (0, 1) };
            replay.run(&sys, &mut holdings, || !told.is_up()).await
        };
        let child = sys.spawn(ChildKind::Process, "others", body).await?;
        Ok(Some(Self { child, ended }))
    }

    /// Lets the others end, and waits for them. Others that were killed for memory have ended.
    pub(crate) async fn end(self, sys: &S) -> Result<(), Stop> {
        self.ended.raise();
        sys.wait(self.child).await?;
        Ok(())
    }
}
