//! What the kernel takes for itself: buffers of the network, and memory that nobody can move, some of it for ever.

use order9_units::{Nanos, Order};

use super::agenda::{Agenda, Arrivals, Event};
use super::{HOUR, Server};
use crate::dice::Dice;
use crate::sys::{KernelAlloc, KernelSize, Stop, Sys};

/// Order of a buffer of the network: a jumbo frame, or a ring of fragments.
const BUFFER: Order = Order::new(3).expect("3 is an order");
const ORDER_MAX: u8 = 3;
/// That an allocation is of the order under consideration, and not of a higher one.
const ORDER_ENDS: f64 = 0.7;

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
        let what = KernelAlloc::new(KernelSize::Block(order(dice)));
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

/// Geometrically distributed; what would be too large is drawn again.
fn order(dice: &mut Dice) -> Order {
    loop {
        let order = (0..=ORDER_MAX).find(|_| dice.chance(ORDER_ENDS));
        if let Some(order) = order.and_then(Order::new) {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_geometric_and_truncated() {
        let mut dice = Dice::new(2);
        let mut seen = [0u32; 4];
        (0..100_000).for_each(|_| seen[order(&mut dice).index()] += 1);
        for (order, share) in [0.7058, 0.2117, 0.0635, 0.0191].into_iter().enumerate() {
            assert!((f64::from(seen[order]) / 1e5 - share).abs() < 0.01, "{seen:?}");
        }
    }
}
