//! Memory that the kernel takes for itself: buffers of the network, and memory that nobody can move, some of it for
//! ever.

use order9_units::{Nanos, Order};

use super::agenda::{Agenda, Arrivals, Event};
use super::{HOUR, Server};
use crate::dice::Dice;
use crate::sys::{KernelAlloc, KernelSize, Stop, Sys};

/// Order of a buffer of the network: a jumbo frame, or a ring of fragments.
const BUFFER: Order = Order::new(3).expect("3 is an order");

/// Buffers of packets: whoever receives cannot wait, and drops the packet where there is no memory.
pub(super) async fn network<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    let dice = Dice::new(sys.seed("uptime network"));
    churn(sys, server, Arrivals::daily(&server, 50.0), dice, |dice| {
        let mean = if dice.chance(0.98) { Nanos::new(2_000_000) } else { Nanos::new(60_000_000_000) };
        let what = KernelAlloc { atomic: true, ..KernelAlloc::new(KernelSize::Block(BUFFER)) };
        (what, Some(dice.exponential(mean)))
    })
    .await
}

/// All other memory of the kernel.
pub(super) async fn run<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    let dice = Dice::new(sys.seed("uptime kernel"));
    churn(sys, server, Arrivals::steady(&server, 5.0), dice, |dice| {
        let what = KernelAlloc::new(KernelSize::Block(dice.block_order()));
        let which = dice.share();
        let time = match which {
            _ if which < 0.90 => Some(dice.exponential(Nanos::new(30_000_000_000))),
            _ if which < 0.99 => Some(dice.exponential(Nanos::new(6 * HOUR.get()))),
            _ => None,
        };
        (what, time)
    })
    .await
}

/// Allocates what `draw` says whenever something arrives, and frees it after as long as that says, if it does.
async fn churn<S: Sys>(
    sys: S,
    server: Server,
    arrivals: Arrivals,
    mut dice: Dice,
    draw: impl Fn(&mut Dice) -> (KernelAlloc, Option<Nanos>),
) -> Result<(), Stop> {
    let mut agenda = Agenda::new(server, arrivals);
    while let Some(event) = agenda.wait(&sys, &mut dice).await? {
        match event {
            Event::Arrival => {
                let (what, time) = draw(&mut dice);
                if let (Some(memory), Some(time)) = (sys.kernel_alloc(what).await?, time) {
                    agenda.due.add(sys.now() + time, memory);
                }
            }
            Event::End(memory) => sys.kernel_free(memory).await?,
        }
    }
    Ok(())
}
