//! [`PhysMem`]: the frames of the machine with all that is in force for them, the ground that the layers above stand on.

use order9_frames::Frames;

use crate::daemons::Daemons;
use crate::heard::Heard;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::trace::Tracer;
use crate::vmstat::Counters;
use crate::work::Work;

/// Physical memory: frames, the policy and the settings in force, what daemons are asked for, and the account of what was done.
#[derive(Clone)]
pub struct PhysMem<T: Tracer> {
    /// Frames, zones and nodes.
    pub(crate) frames: Frames<Heard<T>>,
    /// Switches in force.
    pub(crate) policy: Policy,
    /// Settings in force.
    pub(crate) settings: Settings,
    /// What daemons are asked for.
    pub(crate) daemons: Daemons,
    /// Events since boot, those of the frames apart.
    pub(crate) counters: Counters,
    /// Work since it was last taken, that on frames apart.
    pub(crate) work: Work,
}

impl<T: Tracer> PhysMem<T> {
    /// The same with another tracer.
    pub(crate) fn with_tracer<U: Tracer>(self, tracer: U) -> PhysMem<U> {
        let Self { frames, policy, settings, daemons, counters, work } = self;
        let frames = frames.with_watch(|heard| heard.with_tracer(tracer));
        PhysMem { frames, policy, settings, daemons, counters, work }
    }
}
