"""The engine by hand: fragments memory, and lets compaction make huge pages again."""

import order9 as o9


def main() -> None:
    mm = o9.Engine("256M", "linux-6.18")
    pages = mm.alloc_many(mm.free_pages, gfp="__GFP_MOVABLE|__GFP_HIGHMEM")
    mm.free_many(pages[::2])
    print(mm.buddyinfo())
    moved = mm.compact()
    print(f"compaction moved {moved} pages")
    huge = mm.alloc(order=9, gfp="GFP_TRANSHUGE")
    print(f"a huge page at frame {huge:#x}")
    mm.free(huge)
    mm.check()


if __name__ == "__main__":
    main()
