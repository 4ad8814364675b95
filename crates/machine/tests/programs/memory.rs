//! System calls about memory.

use order9_machine::Outcome;
use order9_workloads::{Access, AddressSpace, Advice, Area, Files, Mapping, Of, Prot, Stop};

use crate::{counter, kib, mib, run};

#[test]
fn touching_memory_faults_once_for_every_page_and_exit_gives_it_back() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(2))).await?;
        sys.touch(area, Access::Write).await?;
        sys.touch(area, Access::Write).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "pgfault"), 512);
    assert_eq!(counter(&results, "pgalloc_normal"), counter(&results, "pgfree"), "all memory comes back");
    // Every access of the program takes its 10 ns, and every fault something in the kernel.
    assert_eq!(results.times.user.get(), 2 * 512 * 10);
    assert!(results.times.system.get() > 512 * 10 * 3);
}

#[test]
fn memory_reads_as_zeros_and_needs_no_page_until_it_is_written() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(1))).await?;
        sys.touch(area, Access::Read).await?;
        sys.madvise(area, Advice::DontNeed).await?;
        sys.touch(area.part(kib(64), kib(4)), Access::Write).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    // The program's page, its page table.
    assert_eq!(counter(&results, "pgalloc_normal"), 2);
}

#[test]
fn mincore_takes_a_page_of_the_kernel_for_its_answer() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(kib(64))).await?;
        for _ in 0..3 {
            assert_eq!(sys.mincore(area).await?, 0);
        }
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "pgalloc_normal"), counter(&results, "pgfree")), (3, 3));
}

#[test]
fn what_is_not_mapped_or_not_allowed_is_a_signal() {
    let at = |program: fn(Area) -> (Area, Access)| {
        run(async move |sys| {
            let area = sys.mmap(Mapping::anon(mib(1))).await?;
            sys.mprotect(area, Prot::Read).await?;
            let (area, access) = program(area);
            sys.touch(area, access).await
        })
    };
    let beyond = at(|area| (Area { start: area.start - 4096, length: kib(4) }, Access::Read));
    assert!(matches!(beyond.outcome, Outcome::Stopped(Stop::Signal { signal: "SIGSEGV", .. })), "{beyond:?}");
    let written = at(|area| (area, Access::Write));
    assert!(matches!(written.outcome, Outcome::Stopped(Stop::Signal { signal: "SIGSEGV", .. })), "{written:?}");
    assert_eq!(at(|area| (area, Access::Read)).outcome, Outcome::Completed);
}

#[test]
fn refused_calls_have_the_errors_of_linux() {
    let results = run(async |sys| {
        let nothing = Area { start: 1 << 30, length: kib(4) };
        assert_eq!(sys.mprotect(nothing, Prot::Read).await, Err(Stop::Refused { call: "mprotect", errno: "ENOMEM" }));
        let unaligned = Area { start: 5, length: kib(4) };
        assert_eq!(sys.munmap(unaligned).await, Err(Stop::Refused { call: "munmap", errno: "EINVAL" }));
        sys.mmap(Mapping::anon(kib(0))).await.map(|_| ())
    });
    assert_eq!(results.outcome, Outcome::Stopped(Stop::Refused { call: "mmap", errno: "EINVAL" }));
}

#[test]
fn mappings_grow_and_move_with_their_pages() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(1))).await?;
        sys.touch(area, Access::Write).await?;
        let grown = sys.mremap(area, mib(3)).await?;
        sys.touch(grown, Access::Read).await?;
        sys.touch(grown, Access::Write).await?;
        sys.munmap(grown).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn locked_memory_is_there_and_files_are_shared() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(1))).await?;
        sys.mlock(area).await?;
        assert_eq!(sys.madvise(area, Advice::DontNeed).await, Err(Stop::Refused { call: "madvise", errno: "EINVAL" }));
        sys.munlock(area).await?;
        let file = sys.create_file(mib(1)).await?;
        let shared = sys.mmap(Mapping { length: mib(1), of: Of::File(file, kib(0)) }).await?;
        sys.touch(shared, Access::Read).await?;
        let own = sys.mmap(Mapping { length: mib(1), of: Of::FilePrivate(file, kib(0)) }).await?;
        sys.touch(own, Access::Write).await?;
        sys.remove_file(file).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    // 256 pages each for locked memory, the file and the private copies, and page tables.
    assert_eq!(counter(&results, "pgalloc_normal") / 256, 3);
}
