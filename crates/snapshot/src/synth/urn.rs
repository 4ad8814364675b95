//! Exact counts dealt in random order.

use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

use super::content::Content;

/// Frames still to be dealt, by content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Urn {
    counts: [u64; Content::COUNT],
    total: u64,
}

impl Urn {
    /// Everything that is dealt, free frames last: also the order in which it is dealt in order.
    const DEALT: [Content; 8] = [
        Content::Anon,
        Content::CleanCache,
        Content::Pinned,
        Content::SlabReclaimable,
        Content::Slab,
        Content::PageTable,
        Content::Kernel,
        Content::Free,
    ];

    /// Adds frames.
    pub(super) fn add(&mut self, content: Content, frames: u64) {
        self.counts[content as usize] += frames;
        self.total += frames;
    }

    /// Number of frames in the urn.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Number of frames of one content in the urn.
    pub(super) fn count(&self, content: Content) -> u64 {
        self.counts[content as usize]
    }

    /// Takes frames of one content, as many as there are up to `frames`.
    pub(super) fn take(&mut self, content: Content, frames: u64) -> u64 {
        let taken = frames.min(self.counts[content as usize]);
        self.counts[content as usize] -= taken;
        self.total -= taken;
        taken
    }

    /// A random content, each frame being as likely as any other. The urn must not be empty.
    pub(super) fn draw(&self, rng: &mut Pcg32) -> Content {
        self.frame(below(rng, self.total))
    }

    /// Draws a frame that is not free. The urn must hold one.
    pub(super) fn draw_used(&self, rng: &mut Pcg32) -> Content {
        self.frame(below(rng, self.total - self.count(Content::Free)))
    }

    /// The first content in order of which there is some. The urn must not be empty.
    pub(super) fn first(&self) -> Content {
        self.frame(0)
    }

    /// Content of one of the frames, counted in the order of [`Self::DEALT`].
    fn frame(&self, mut at: u64) -> Content {
        for content in Self::DEALT {
            let count = self.count(content);
            if at < count {
                return content;
            }
            at -= count;
        }
        unreachable!("counts add up to the total");
    }

    /// Splits off `frames` frames, taking all of one content before the next.
    pub(super) fn split_in_order(&mut self, frames: u64) -> Self {
        let mut part = Self::default();
        for content in Self::DEALT {
            part.add(content, self.take(content, frames - part.total));
        }
        part
    }

    /// Splits off `frames` frames of the same mix: each content by its share, rest by largest remainder.
    pub(super) fn split(&mut self, frames: u64) -> Self {
        assert!(frames <= self.total, "an urn of {} frames cannot give {frames}", self.total);
        let mut part = Self::default();
        if frames == 0 {
            return part;
        }
        let whole = u128::from(self.total);
        let mut remainders = Vec::with_capacity(Self::DEALT.len());
        for content in Self::DEALT {
            let exact = u128::from(self.count(content)) * u128::from(frames);
            part.add(content, (exact / whole) as u64);
            remainders.push((exact % whole, content));
        }
        // Stable: equal remainders go by the order of contents.
        remainders.sort_by_key(|&(remainder, _)| std::cmp::Reverse(remainder));
        for (_, content) in remainders.into_iter().take((frames - part.total) as usize) {
            part.add(content, 1);
        }
        for content in Self::DEALT {
            self.take(content, part.count(content));
        }
        part
    }
}

/// A random number below `bound`, at most 2^32. Its bias, below `bound` / 2^32, is of no account here.
pub(super) fn below(rng: &mut Pcg32, bound: u64) -> u64 {
    (u64::from(rng.next_u32()) * bound) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_keeps_every_frame() {
        let mut urn = Urn::default();
        urn.add(Content::Free, 1000);
        urn.add(Content::Anon, 333);
        urn.add(Content::Slab, 1);
        let whole = urn.clone();
        let mut sum = Urn::default();
        while urn.total() > 0 {
            let part = urn.split(urn.total().min(100));
            assert_eq!(Content::ALL.iter().map(|&content| part.count(content)).sum::<u64>(), part.total());
            Content::ALL.iter().for_each(|&content| sum.add(content, part.count(content)));
        }
        assert_eq!(sum, whole);
    }
}
