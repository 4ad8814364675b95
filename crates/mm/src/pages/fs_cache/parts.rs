//! Parts that a file's inode has in memory, taken one after another, each of which may have to wait for pages.
//!
//! Key types: [`Part`] (what is taken next), [`FsNeed`] (the pages it waits for). While a task waits, another may take the same part, or remove
//! the file: so each step looks again for what is missing, and what was taken in vain is freed.

use order9_frames::Request;
use order9_units::{Order, Pfn};

use super::buffers::{Content, Lacking};
use super::filesystem::{Companion, Stage};
use super::{Dentry, FsCache, FsError, FsStep, Inode, NONE};
use crate::alloc_error::AllocError;
use crate::page_cache::{FileId, FileTable};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::{CacheId, NewSlab, Object, ObjectStep};

/// A file that is brought to a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    pub(super) file: FileId,
    pub(super) stage: Stage,
    pub(super) asked: Request,
    pub(super) inode_missed: bool,
}

/// A step towards a stage that waits for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsNeed {
    goal: Goal,
    wanted: Wanted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Slab(NewSlab),
    /// A page of a buffer.
    Page,
}

/// A part that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Inode,
    Dentry,
    /// The name, if a dentry holds none, by the number of the inode.
    Name(u32),
    /// A companion of the inode, by its place in the description of the filesystem.
    Companion(u32, usize),
    BufferHead(Content),
    BufferPage(u32),
}

impl FsNeed {
    /// The allocation to make.
    #[must_use]
    pub fn request(&self) -> Request {
        match &self.wanted {
            Wanted::Slab(slab) => slab.request(),
            Wanted::Page => Request { order: Order::ZERO, ..self.goal.asked },
        }
    }

    /// Whether the step fails if this request does.
    pub(super) const fn is_last_try(&self) -> bool {
        match &self.wanted {
            Wanted::Slab(slab) => slab.is_last_try(),
            Wanted::Page => true,
        }
    }
}

impl UsedPages {
    /// Takes what is missing, one part after the other, until the stage is reached.
    pub(super) fn go_on(&mut self, mut goal: Goal, phys: &mut PhysMem) -> FsStep {
        let Some(fs) = self.fs.as_ref() else { return FsStep::Failed(FsError::NotMounted) };
        let part = match fs.missing(&self.cache.files, &goal) {
            Err(error) => return FsStep::Failed(error),
            Ok(None) => return self.reach(&goal, phys),
            Ok(Some(part)) => part,
        };
        goal.inode_missed |= part == Part::Inode;
        let Some(cache) = fs.cache_of(part) else {
            return FsStep::NeedPage(FsNeed { goal, wanted: Wanted::Page });
        };
        let step = self.slab.kmem_cache_alloc(cache, &goal.asked, phys);
        self.take_object(goal, step, phys)
    }

    /// Hands in what the allocation of [`FsNeed::request`] came to.
    ///
    /// # Panics
    /// If the page is not a block of that order that was just allocated.
    pub fn fs_open_give(&mut self, need: &FsNeed, answer: Result<Pfn, AllocError>, phys: &mut PhysMem) -> FsStep {
        match (&need.wanted, answer) {
            (Wanted::Slab(slab), answer) => {
                let step = self.kmem_cache_give(slab, answer, phys);
                self.take_object(need.goal, step, phys)
            }
            (Wanted::Page, Ok(page)) => self.take_buffer_page(need.goal, page, phys),
            (Wanted::Page, Err(error)) => FsStep::Failed(FsError::NoPage(error)),
        }
    }

    /// Makes an object the part that is missing, and goes on.
    fn take_object(&mut self, goal: Goal, step: ObjectStep, phys: &mut PhysMem) -> FsStep {
        let object = match step {
            ObjectStep::Done(object) => object,
            ObjectStep::NeedPage(slab) => return FsStep::NeedPage(FsNeed { goal, wanted: Wanted::Slab(slab) }),
            ObjectStep::Failed(error) => {
                self.list_if_idle(goal.file, phys); // Its inode, if only the dentry is missing.
                return FsStep::Failed(FsError::Slab(error));
            }
        };
        let fs = self.fs.as_mut().expect("it is mounted");
        match fs.missing(&self.cache.files, &goal) {
            Ok(Some(part)) if fs.cache_of(part) == Some(object.cache) => {
                fs.install(part, object.number, goal.file, &mut self.cache.files);
            }
            _ => {
                self.kmem_cache_free(object, goal.asked.cpu, phys).expect("the object was just allocated");
            }
        }
        self.go_on(goal, phys)
    }

    /// Makes a page the one that a buffer lacks, and goes on.
    fn take_buffer_page(&mut self, goal: Goal, page: Pfn, phys: &mut PhysMem) -> FsStep {
        let (idx, word) = phys.frames.live(page).unwrap_or_else(|error| panic!("a page was handed in, but {error}"));
        let fs = self.fs.as_mut().expect("it is mounted");
        match (fs.missing(&self.cache.files, &goal), fs.buffers.as_mut()) {
            (Ok(Some(Part::BufferPage(number))), Some(buffers)) => {
                let node = self.slab.node_of_object(buffers.heads, number);
                buffers.add_page(number, idx, node);
            }
            _ => phys.frames.free_block(idx, word, goal.asked.cpu),
        }
        self.go_on(goal, phys)
    }

    /// Nothing is missing any more.
    fn reach(&mut self, goal: &Goal, phys: &mut PhysMem) -> FsStep {
        let Ok(Some((number, inode))) = self.inode_of(goal.file) else {
            return FsStep::Done { inode_missed: false };
        };
        let fs = self.fs.as_mut().expect("it is mounted");
        match goal.stage {
            Stage::Open => {
                let users = &mut fs.dentries[inode.dentry as usize].users;
                match users.checked_add(1) {
                    Some(more) => *users = more,
                    None => return FsStep::Failed(FsError::TooManyOpens(goal.file)),
                }
            }
            Stage::Created => {
                if let Some(buffers) = fs.buffers.as_mut().filter(|_| !inode.holds_buffer) {
                    let heads = buffers.heads;
                    buffers.hold(goal.file, |head| self.slab.node_of_object(heads, head));
                    fs.inodes[number as usize].holds_buffer = true;
                }
            }
            Stage::Placed => {
                self.free_companions(number, Some(Stage::Placed), goal.asked.cpu, phys);
            }
        }
        FsStep::Done { inode_missed: goal.inode_missed }
    }

    /// Frees the name of a file, if it has one beside its dentry; returns the frames that went back.
    pub(super) fn free_name(&mut self, inode: u32, cpu: usize, phys: &mut PhysMem) -> u64 {
        let names = self.fs.as_mut().and_then(|fs| fs.names.as_mut());
        let Some((cache, number)) = names.map(|(cache, names)| (*cache, names.take(inode))) else { return 0 };
        if number == NONE {
            return 0;
        }
        self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("a name lives")
    }

    /// The inode of a file is written: it holds its buffer no longer.
    pub(crate) fn release_buffer(&mut self, id: FileId) {
        let Ok(Some((number, Inode { holds_buffer: true, .. }))) = self.inode_of(id) else { return };
        let fs = self.fs.as_mut().expect("it is mounted");
        fs.inodes[number as usize].holds_buffer = false;
        let buffers = fs.buffers.as_mut().expect("an inode holds a buffer");
        let heads = buffers.heads;
        buffers.release(id, |head| self.slab.node_of_object(heads, head));
    }

    /// Frees the companions of an inode that go at this stage, or all; returns the frames that went back.
    pub(super) fn free_companions(&mut self, inode: u32, at: Option<Stage>, cpu: usize, phys: &mut PhysMem) -> u64 {
        let mut frames = 0;
        let kinds = self.fs.as_ref().map_or(0, |fs| fs.companions.len());
        for kind in 0..kinds {
            let of = &mut self.fs.as_mut().expect("it is mounted").companions[kind];
            if at.is_some() && of.spec.until != at {
                continue;
            }
            if let Some(object) = of.take(inode) {
                frames += self.kmem_cache_free(object, cpu, phys).expect("a companion lives");
            }
        }
        frames
    }
}

/// Companions of one kind, by the number of their inode.
#[derive(Clone)]
pub(super) struct Companions {
    spec: Companion,
    pub(super) cache: CacheId,
    of_inode: Objects,
}

impl Companions {
    pub(super) fn new(spec: Companion, cache: CacheId) -> Self {
        Self { spec, cache, of_inode: Objects::default() }
    }

    pub(super) const fn objects(&self) -> &Objects {
        &self.of_inode
    }

    /// Whether an inode needs one for a stage and has none.
    fn is_missing(&self, inode: u32, stage: Stage) -> bool {
        self.spec.since <= stage
            && self.spec.until.is_none_or(|until| stage < until)
            && self.of_inode.get(inode) == NONE
    }

    fn take(&mut self, inode: u32) -> Option<Object> {
        let number = self.of_inode.take(inode);
        (number != NONE).then_some(Object { cache: self.cache, number })
    }
}

/// Objects by the numbers of others, which most have.
#[derive(Clone, Default)]
pub(super) struct Objects(alloc::vec::Vec<u32>);

impl Objects {
    pub(super) fn get(&self, of: u32) -> u32 {
        self.0.get(of as usize).copied().unwrap_or(NONE)
    }

    fn set(&mut self, of: u32, number: u32) {
        if self.0.len() <= of as usize {
            self.0.resize(of as usize + 1, NONE);
        }
        self.0[of as usize] = number;
    }

    /// Number of objects.
    pub(super) fn len(&self) -> usize {
        self.0.iter().filter(|&&number| number != NONE).count()
    }

    fn take(&mut self, of: u32) -> u32 {
        self.0.get_mut(of as usize).map_or(NONE, |number| core::mem::replace(number, NONE))
    }
}

impl FsCache {
    pub(super) fn dentry_of(&self, files: &FileTable, id: FileId) -> Result<Option<u32>, FsError> {
        let dentry = files.inode_of(id)?.map(|inode| self.inodes[inode as usize].dentry);
        Ok(dentry.filter(|&dentry| dentry != NONE))
    }

    /// The first part that is missing for a stage. A file without inode in memory reaches no later one than the first.
    fn missing(&self, files: &FileTable, goal: &Goal) -> Result<Option<Part>, FsError> {
        let inode = files.inode_of(goal.file)?;
        let Some(number) = inode else { return Ok((goal.stage == Stage::Open).then_some(Part::Inode)) };
        let companion = || {
            let missing = |of: &Companions| of.is_missing(number, goal.stage);
            Some(Part::Companion(number, self.companions.iter().position(missing)?))
        };
        Ok(match goal.stage {
            Stage::Open => companion().or_else(|| self.missing_entry(number)),
            Stage::Created => self.missing_buffer(number, goal.file).or_else(companion),
            Stage::Placed => companion(),
        })
    }

    /// The dentry comes last: from then on the file is in use.
    fn missing_entry(&self, inode: u32) -> Option<Part> {
        let needs_name = self.names.as_ref().is_some_and(|(_, names)| names.get(inode) == NONE);
        match self.inodes[inode as usize].dentry {
            NONE if needs_name => Some(Part::Name(inode)),
            NONE => Some(Part::Dentry),
            _ => None,
        }
    }

    fn missing_buffer(&self, inode: u32, file: FileId) -> Option<Part> {
        let buffers = self.buffers.as_ref().filter(|_| !self.inodes[inode as usize].holds_buffer)?;
        Some(match buffers.lacking_for(file)? {
            Lacking::Head(content) => Part::BufferHead(content),
            Lacking::Page(number) => Part::BufferPage(number),
        })
    }

    /// The cache that a part is an object of.
    fn cache_of(&self, part: Part) -> Option<CacheId> {
        match part {
            Part::Inode => Some(self.inode_cache),
            Part::Dentry => Some(self.dentry_cache),
            Part::Name(_) => self.names.as_ref().map(|&(cache, _)| cache),
            Part::Companion(_, kind) => Some(self.companions[kind].cache),
            Part::BufferHead(_) => self.buffers.as_ref().map(|buffers| buffers.heads),
            Part::BufferPage(_) => None,
        }
    }

    /// Makes object `number` a part of the file.
    fn install(&mut self, part: Part, number: u32, file: FileId, files: &mut FileTable) {
        match part {
            Part::Inode => {
                let inode = Inode { file, dentry: NONE, listed: false, referenced: false, holds_buffer: false };
                if self.inodes.len() <= number as usize {
                    self.inodes.resize(number as usize + 1, inode);
                }
                self.inodes[number as usize] = inode;
                files.set_inode(file, Some(number));
            }
            Part::Dentry => {
                let inode = files.inode_of(file).ok().flatten().expect("only the dentry is missing");
                let dentry = Dentry { inode, users: 0, listed: false, referenced: false };
                if self.dentries.len() <= number as usize {
                    self.dentries.resize(number as usize + 1, dentry);
                }
                self.dentries[number as usize] = dentry;
                self.inodes[inode as usize].dentry = number;
            }
            Part::Name(inode) => self.names.as_mut().expect("it keeps names").1.set(inode, number),
            Part::Companion(inode, kind) => self.companions[kind].of_inode.set(inode, number),
            Part::BufferHead(content) => {
                self.buffers.as_mut().expect("it has buffers").add_head(content, number);
            }
            Part::BufferPage(_) => unreachable!("a page of a buffer is no object"),
        }
    }
}
