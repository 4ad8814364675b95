//! Readahead: a reader that goes on where it was gets pages before it asks for them.
//!
//! As Linux' on-demand readahead: a sequential read that misses reads a window, the first of at most four times what was asked
//! for; when the reader comes to a marked page in it, the next window, twice as large up to `read_ahead_kb`, is read
//! meanwhile. A call that wants more than that gets windows of what it wants, as far as one request of the disk reaches
//! (`reclaim.large_reads`). A reader that jumps gets what it asked for, unless the pages before it show that somebody has read the file
//! up to there. A fault on a page of a mapping that is not there reads as much as `read_ahead_kb` around it, and the mark is a quarter before
//! the end; faults beside it do not map the marked page, so that its own fault finds the mark. Where several readers of a file follow each
//! other, a mark is not that of the window which the file remembers: the next window is then what is missing behind the mark.
//! Where the page cache has large folios (`thp.file_large`), the first window is read into base pages, and each one that follows at a
//! mark into folios of four times the size, as far as the window has room; it ends where such a folio ends. LKML: "Readahead tweaks for
//! larger folios" (2025); the sizes are those that `mm_filemap_add_to_page_cache` of a 6.18 shows.
//! Source: Documentation/filesystems/vfs.rst; "On-demand readahead" (LWN, 2007); LKML: "readahead: introduce context readahead algorithm"
//! (2009), "mm: don't cap request size based on read-ahead setting" (2016).

use alloc::collections::BTreeMap;

use order9_units::{Order, Pages};

use super::folio::ORDER_MAX;
use super::{CachedPage, FileId, Folio};
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::phys::PhysMem;

/// Limits of what is read ahead of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Pages that are read ahead of who goes on: `read_ahead_kb` of the disk, 128 KiB as shipped.
    pub read_ahead: Pages,
    /// Pages that the disk reads with one request at most: `max_sectors_kb`.
    pub request: Pages,
}

/// Windows of files that are open.
#[derive(Clone, Default)]
pub(crate) struct Readahead(BTreeMap<FileId, Window>);

/// Pages to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToRead {
    /// The first page.
    pub(crate) start: u64,
    /// Number of pages.
    pub(crate) pages: u64,
    /// The page to mark, which has the next ones read.
    pub(crate) mark: Option<u64>,
    /// Largest folios to read them into, where the page cache has large ones.
    pub(crate) order: Order,
}

/// Pages that were read last ahead of a reader.
#[derive(Clone, Copy, Default)]
struct Window {
    start: u64,
    size: u64,
    /// The next window is read when the reader comes to this many pages before the end.
    ahead: u64,
    /// End of the last call that read, if there was one.
    reader: Option<u64>,
    /// The call under way, or the last one.
    call: Option<Call>,
    /// Order of folios as far as they have grown; windows may be too small for them.
    order: u8,
}

impl Window {
    const fn end(&self) -> u64 {
        self.start + self.size
    }

    fn mark(&self) -> Option<u64> {
        (self.ahead > 0).then(|| self.end() - self.ahead)
    }

    /// A window that begins anew, with base pages.
    fn set(&mut self, start: u64, size: u64, ahead: u64) -> ToRead {
        (self.start, self.size, self.ahead, self.order) = (start, size, ahead, 0);
        ToRead { start, pages: size, mark: self.mark(), order: Order::ZERO }
    }

    /// A window that follows another one, in folios of four times the size, and ends where such a folio does, as far as windows of
    /// `max` pages can.
    fn follow(&mut self, start: u64, size: u64, max: u64) -> ToRead {
        let grown = self.order + 2;
        let align = u32::from(grown).min(max.trailing_zeros());
        let aligned = (start + size) >> align << align;
        let size = if aligned > start { aligned - start } else { size };
        let order = Order::new(grown.min(size.ilog2() as u8)).map_or(ORDER_MAX, |order| order.min(ORDER_MAX));
        let window = self.set(start, size, size);
        self.order = order.get();
        ToRead { order, ..window }
    }

    /// A reader has come to `index` and wants `wanted` pages from there on: by the call under way, or by another one.
    fn begin(&mut self, index: u64, wanted: u64) {
        let end = index + wanted;
        if self.call.is_none_or(|call| (call.at, call.end) != (index, end)) {
            self.reader = self.call.map(|call| call.at);
            self.call = Some(Call { at: index, end, has_read: false });
        }
    }

    /// The window to read for a reader that misses `index`, behind `before` pages that are there.
    fn miss(&mut self, index: u64, before: u64, ask: Ask) -> ToRead {
        let Ask { wanted, max } = ask;
        let follows = self.reader.is_some_and(|reader| index == reader || index == reader + 1);
        if index == 0 || wanted > max || follows {
            let size = ask.first_window();
            return self.set(index, size, if size > wanted { size - wanted } else { size });
        }
        if before > wanted {
            let read_so_far = if before >= index { 2 * before } else { before };
            return self.set(index, (read_so_far + wanted).min(max), 1);
        }
        ToRead { start: index, pages: wanted, mark: None, order: Order::ZERO }
    }

    /// The window to read around a page that a mapping shows.
    fn around(&mut self, index: u64, read_ahead: u64) -> ToRead {
        self.set(index.saturating_sub(read_ahead / 2), read_ahead, read_ahead / 4)
    }

    /// The window to read for a reader that has come to a mark at `index`. `missing` is the first page behind it that is not there, if
    /// one is near. Base pages are read, or with `large` folios that grow from window to window.
    fn marked(&mut self, index: u64, missing: Option<u64>, ask: Ask, large: bool) -> Option<ToRead> {
        let (start, before) = match self.mark() == Some(index) {
            true => (self.end(), self.size),
            false => (missing?, missing? - index + ask.wanted),
        };
        let size = ask.next_window(before);
        Some(if large { self.follow(start, size, ask.max) } else { self.set(start, size, size) })
    }
}

/// A call that reads.
#[derive(Clone, Copy)]
struct Call {
    /// Place that it has come to.
    at: u64,
    end: u64,
    /// Whether something of it was read.
    has_read: bool,
}

/// Pages that a reader wants.
#[derive(Clone, Copy)]
struct Ask {
    wanted: u64,
    /// The largest window.
    max: u64,
}

impl Ask {
    /// A reader that wants so many pages.
    fn new(wanted: u64, limits: ReadLimits, phys: &PhysMem) -> Self {
        // The page itself is read where nothing is read ahead.
        let [read_ahead, request] = [limits.read_ahead.get().max(1), limits.request.get()];
        let by_request = phys.policy.reclaim.large_reads && wanted > read_ahead && request > read_ahead;
        Self { wanted, max: if by_request { wanted.min(request) } else { read_ahead } }
    }

    /// A fault.
    fn of_fault(limits: ReadLimits) -> Self {
        let read_ahead = limits.read_ahead.get().max(1);
        Self { wanted: read_ahead, max: read_ahead }
    }

    /// Size of the first window of a reader that goes on.
    fn first_window(self) -> u64 {
        let size = self.wanted.next_power_of_two();
        match self.max {
            max if size <= max / 32 => size * 4,
            max if size <= max / 4 => size * 2,
            max => max,
        }
    }

    /// Size of the window that follows one of `size`.
    fn next_window(self, size: u64) -> u64 {
        match self.max {
            max if size < max / 16 => size * 4,
            max if size <= max / 2 => size * 2,
            max => max,
        }
    }
}

impl PageCache {
    /// Pages to read now for a reader that misses `index` of a file and wants `wanted` pages from there on; `None` where the page is
    /// there.
    pub(crate) fn readahead(
        &mut self,
        file: FileId,
        index: u64,
        (wanted, limits): (u64, ReadLimits),
        phys: &PhysMem,
    ) -> Option<ToRead> {
        self.window(file).begin(index, wanted);
        if self.find_page(file, index, phys) != CachedPage::Missing {
            return None;
        }
        let ask = Ask::new(wanted, limits, phys);
        let before = self.pages_before(file, index, ask.max);
        Some(self.window(file).miss(index, before, ask))
    }

    /// Pages to read now for a reader that has come to `index`, which may have just been read and marked.
    pub(crate) fn readahead_at_mark(
        &mut self,
        file: FileId,
        index: u64,
        (wanted, limits): (u64, ReadLimits),
        phys: &mut PhysMem,
    ) -> Option<ToRead> {
        self.marked(file, index, Ask::new(wanted, limits, phys), phys)
    }

    /// Pages of a file that are there right before `index`, at most `max`.
    fn pages_before(&self, file: FileId, index: u64, max: u64) -> u64 {
        let Ok(file) = self.file(file) else { return 0 };
        let before = (index.saturating_sub(max)..index).rev();
        before.take_while(|&at| file.page(at).is_some()).count() as u64
    }

    /// A reader has read `[index, end)`, which lie in one folio. Says whether that is an access of its own: one that goes on in a
    /// large folio where the last one ended is not.
    pub(crate) fn note_read(&mut self, file: FileId, index: u64, end: u64, phys: &PhysMem) -> bool {
        let folio = self.folio_at(file, index, phys);
        let window = self.window(file);
        let Some(call) = &mut window.call else { return true };
        let before = if call.has_read { None } else { window.reader };
        (call.at, call.has_read) = (end, true);
        let goes_on = |folio: Folio| before.is_some_and(|at| folio.index < at && at <= folio.end());
        !folio.is_some_and(|folio| folio.pages > 1 && goes_on(folio))
    }

    /// Pages to read now for a fault on the page at `index` of a mapped file.
    pub(crate) fn readahead_for_fault(
        &mut self,
        file: FileId,
        index: u64,
        limits: ReadLimits,
        phys: &mut PhysMem,
    ) -> Option<ToRead> {
        match self.find_page(file, index, phys) {
            CachedPage::Missing => Some(self.window(file).around(index, Ask::of_fault(limits).max)),
            _ => self.marked(file, index, Ask::of_fault(limits), phys),
        }
    }

    /// Takes the mark away from a page; what is to be read then, if it had one.
    fn marked(&mut self, file: FileId, index: u64, ask: Ask, phys: &mut PhysMem) -> Option<ToRead> {
        let folio = self.folio_at(file, index, phys)?;
        if !phys.frames.word(folio.head).has(PageFlag::Readahead) {
            return None;
        }
        phys.frames.reflag(folio.head, PageFlag::Readahead, false);
        let ask = Ask { wanted: ask.wanted + (index - folio.index), ..ask };
        let index = folio.index;
        let pages = self.file(file).ok()?;
        let missing = (index + 1..=index + ask.max).find(|&at| pages.page(at).is_none());
        self.window(file).marked(index, missing, ask, phys.policy.thp.file_large)
    }

    fn window(&mut self, file: FileId) -> &mut Window {
        self.readahead.0.entry(file).or_default()
    }

    /// Marks a page that is being read, so that the next ones are read when a reader comes to it.
    pub(crate) fn mark_for_readahead(&mut self, file: FileId, index: u64, phys: &mut PhysMem) {
        if let Some(folio) = self.folio_at(file, index, phys) {
            phys.frames.reflag(folio.head, PageFlag::Readahead, true);
        }
    }

    /// Forgets how far a reader of the file was: a program has closed it.
    pub fn forget_readahead(&mut self, file: FileId) {
        self.readahead.0.remove(&file);
    }
}

#[cfg(test)]
mod tests {
    use super::super::folio::order_at;
    use super::*;
    use crate::Mm;
    use crate::fs_cache::tests::mounted;
    use crate::policy::Policy;

    /// A window that is read, and its mark.
    const fn read(start: u64, pages: u64, mark: u64) -> ToRead {
        ToRead { start, pages, mark: Some(mark), order: Order::ZERO }
    }

    const READ_AHEAD: Pages = Pages::new(32);
    const FAULT: Ask = Ask { wanted: 32, max: 32 };

    const fn ask(wanted: u64) -> Ask {
        Ask { wanted, max: READ_AHEAD.get() }
    }

    #[test]
    fn windows_grow_ahead_of_a_reader_that_goes_on() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 0, ask(1)), read(0, 4, 1), "the mark is behind what was asked for");
        assert_eq!(window.marked(1, Some(4), ask(1), false), Some(read(4, 8, 4)));
        assert_eq!(window.marked(4, Some(12), ask(1), false), Some(read(12, 16, 12)));
        assert_eq!(window.marked(12, Some(28), ask(1), false), Some(read(28, 32, 28)));
        assert_eq!(window.marked(28, Some(60), ask(1), false), Some(read(60, 32, 60)), "128 KiB are the most");
    }

    #[test]
    fn first_windows_are_as_large_as_what_was_asked_for_has_them() {
        for (wanted, size, mark) in [(1, 4, 1), (2, 4, 2), (4, 8, 4), (8, 16, 8), (9, 32, 9), (32, 32, 0), (40, 32, 0)]
        {
            assert_eq!(Window::default().miss(0, 0, ask(wanted)), read(0, size, mark), "{wanted}");
        }
    }

    #[test]
    fn calls_for_much_get_windows_of_one_request() {
        let mut mm = mounted(Policy::default());
        let limits = |request| ReadLimits { read_ahead: READ_AHEAD, request: Pages::new(request) };
        let max = |mm: &Mm, wanted, request| Ask::new(wanted, limits(request), &mm.phys).max;
        mm.phys.policy.reclaim.large_reads = true;
        assert_eq!([max(&mm, 512, 320), max(&mm, 200, 320), max(&mm, 32, 320), max(&mm, 512, 16)], [320, 200, 32, 32]);
        mm.phys.policy.reclaim.large_reads = false;
        assert_eq!(max(&mm, 512, 320), 32);
    }

    #[test]
    fn faults_that_go_on_find_a_mark_in_each_window() {
        let mut window = Window::default();
        assert_eq!(window.around(5, 32), read(0, 32, 24));
        assert_eq!(window.marked(24, Some(32), FAULT, false), Some(read(32, 32, 32)));
        assert_eq!(window.around(1000, 32), read(984, 32, 1008), "a jump begins anew");
    }

    #[test]
    fn a_mark_of_another_reader_has_read_what_is_missing_behind_it() {
        let mut window = Window::default();
        window.around(1000, 32);
        assert_eq!(window.marked(24, Some(32), ask(1), false), Some(read(32, 18, 32)));
        assert_eq!(window.marked(500, None, ask(1), false), None, "everything near is there");
    }

    #[test]
    fn whoever_jumps_gets_what_was_asked_for() {
        let mut window = Window::default();
        let alone = |start, pages| ToRead { start, pages, mark: None, order: Order::ZERO };
        assert_eq!(window.miss(1, 0, ask(1)), alone(1, 1), "nobody knows that it goes on");
        assert_eq!(window.miss(100, 0, ask(2)), alone(100, 2));
        window.reader = Some(102);
        assert_eq!(window.miss(102, 2, ask(1)), read(102, 4, 103), "and is followed from there on");
        window.reader = Some(102);
        assert_eq!(window.miss(103, 0, ask(1)), read(103, 4, 104), "also past one page");
        assert_eq!(window.miss(7, 0, ask(1)), alone(7, 1));
        assert_eq!(window.mark(), Some(104), "the window of others stays");
    }

    #[test]
    fn pages_before_a_jump_tell_of_a_stream() {
        let mut window = Window::default();
        assert_eq!(window.miss(50, 3, ask(2)), read(50, 5, 54), "as much as is there");
        assert_eq!(window.miss(6, 6, ask(2)), read(6, 14, 19), "twice that if it goes back to the start");
        assert_eq!(window.miss(80, 32, ask(2)), read(80, 32, 111));
        assert_eq!(window.miss(80, 2, ask(2)).mark, None);
    }

    #[test]
    fn folios_grow_from_window_to_window_as_on_a_live_kernel() {
        // What 6.18 read with read_ahead_kb at 128 for calls that want a page each, and for faults.
        let sizes = |first: ToRead, window: &mut Window| {
            let mut sizes = alloc::vec![(first.start, first.pages, 0)];
            for _ in 0..7 {
                let at = window.mark().expect("the window has a mark");
                let next = window.marked(at, None, ask(1), true).expect("the mark is the window's own");
                sizes.push((next.start, next.pages, next.order.get()));
            }
            sizes
        };
        let mut window = Window::default();
        let first = window.miss(0, 0, ask(1));
        let found = sizes(first, &mut window);
        assert_eq!(
            found,
            [(0, 4, 0), (4, 8, 2), (12, 4, 2), (16, 8, 3), (24, 8, 3), (32, 16, 4), (48, 16, 4), (64, 32, 5)]
        );
        let first = window.around(0, 32);
        let found = sizes(first, &mut window);
        assert_eq!(found[..5], [(0, 32, 0), (32, 32, 2), (64, 32, 4), (96, 32, 5), (128, 32, 5)]);
    }

    #[test]
    fn windows_of_8_mib_have_the_folios_of_a_live_kernel() {
        // What 6.18 read with read_ahead_kb at 8192 for calls that want a page each.
        let live = [
            (4, 2),
            (8, 2),
            (12, 2),
            (16, 2),
            (20, 2),
            (24, 3),
            (32, 4),
            (48, 4),
            (64, 4),
            (80, 4),
            (96, 5),
            (128, 6),
            (192, 6),
            (256, 6),
            (320, 6),
            (384, 7),
            (512, 8),
            (768, 8),
            (1024, 9),
            (1536, 9),
            (2048, 9),
        ];
        let ask = Ask { wanted: 1, max: 2048 };
        let mut window = Window::default();
        window.miss(0, 0, ask);
        let mut found = alloc::vec![];
        while found.len() < live.len() {
            let at = window.mark().expect("the window has a mark");
            let next = window.marked(at, None, ask, true).expect("the mark is the window's own");
            let (mut index, end) = (next.start, next.start + next.pages);
            while index < end {
                let order = order_at(index, end - index, next.order);
                found.push((index, order.get()));
                index += order.pages().get();
            }
        }
        assert_eq!(found[..live.len()], live);
    }

    #[test]
    fn without_readahead_the_missing_page_is_read_and_marks_lead_no_further() {
        let mm = mounted(Policy::default());
        let limits = ReadLimits { read_ahead: Pages::ZERO, request: Pages::new(320) };
        assert_eq!((Ask::of_fault(limits).max, Ask::new(1, limits, &mm.phys).max), (1, 1));
        let mut window = Window::default();
        assert_eq!(window.around(9, 1), ToRead { start: 9, pages: 1, mark: None, order: Order::ZERO });
        let marked = window.marked(3, Some(4), Ask::of_fault(limits), true);
        assert_eq!(marked.map(|next| next.pages), Some(1));
    }

    #[test]
    fn places_within_a_call_are_no_call_of_their_own() {
        let mut window = Window::default();
        window.begin(100, 8);
        window.call = window.call.map(|call| Call { at: 104, ..call });
        window.begin(104, 4);
        assert_eq!(window.reader, None, "the call goes on");
        window.begin(104, 2);
        assert_eq!(window.reader, Some(104), "another one begins where that has come to");
    }
}
