//! `order9 report`, and the pages of `inspect`, `plot` and `compare`.

use std::fs;
use std::path::Path;

use crate::browser::Browser;
use crate::support::{SHORT, bundled, folder_with_machine, order9_line};

/// Events that compaction and fragmentation are drawn from.
const EVENTS: &str = "--events mm_compaction_begin,mm_compaction_end,mm_compaction_migratepages,mm_page_alloc_extfrag";

/// A folder with a run directory `runs` of two policies that has maps and events.
fn with_runs() -> tempfile::TempDir {
    let folder = folder_with_machine();
    let what = "run thpscale --machine {}/tiny.toml --threads 1,2 --seeds 1 --policy linux-5.0 --policy linux-6.18";
    order9_line(&format!("{what} --maps 1s {EVENTS} -o {{}}/runs"), folder.path()).success();
    folder
}

fn page(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("the page was written")
}

#[test]
fn a_report_opens_in_a_browser_without_a_network() {
    let folder = with_runs();
    let said = order9_line("report {}/runs -o {}/page.html", folder.path()).success();
    assert!(said.starts_with("written to ") && said.contains(" KiB)"), "{said}");
    assert!(page(folder.path(), "page.html").len() < 2_000_000);
    for theme in ["light", "dark"] {
        let Some(mut browser) = Browser::open(&folder.path().join("page.html"), theme) else { return };
        read_all(&mut browser, theme);
        assert_eq!(browser.requests.len(), 1, "nothing but the page itself: {:?}", browser.requests);
        assert_eq!(browser.complaints, Vec::<String>::new());
    }
}

/// Looks at every part of a report as a reader does.
fn read_all(browser: &mut Browser, theme: &str) {
    assert_eq!(browser.text("document.documentElement.dataset.theme"), theme);
    let parts = browser.text("[...document.querySelectorAll('h2')].map((part) => part.textContent).join('|')");
    assert_eq!(parts, "What was run|Comparison|Latency|Over time|Memory map|Compaction");
    // Percentiles of both policies, and what the pointer reads of a distribution.
    browser.point(".latency .plot .u-over, .latency .plot", 0.5, 0.5);
    browser.until("document.querySelector('.latency .plot .u-over') !== null");
    browser.point(".latency .u-over", 0.5, 0.5);
    browser.until("/% ≤ .*s$/.test(document.querySelector('.latency .reading').textContent)");
    assert!(browser.text("document.querySelectorAll('.latency .reading')[1].textContent").starts_with("p5"));
    // Panels over time read at the same instant.
    browser.point(".timeline .plot", 0.5, 0.5);
    browser.until("document.querySelectorAll('.timeline .u-over').length > 1");
    browser.point(".timeline .u-over", 0.6, 0.5);
    browser.until("document.querySelectorAll('.timeline .readout')[1].textContent.length > 3");
    let times =
        "[0, 1].map((at) => document.querySelectorAll('.timeline .readout')[at].textContent.split('\\u2003')[0])";
    let times = browser.value(times);
    assert_eq!(times[0], times[1], "cursors are linked");
    // The map: the slider moves on in time, and the pointer reads a pageblock. A pointer that moves over a map which is not drawn
    // yet reads nothing.
    browser.value(
        "new MutationObserver((changes) => changes.filter(({ target }) => target.matches('.maps canvas')).forEach(\
         ({ target }) => target.dispatchEvent(new PointerEvent('pointermove', { clientX: 200, clientY: 200 }))))\
         .observe(document.body, { subtree: true, attributeFilter: ['aria-label'] })",
    );
    browser.point(".maps canvas", 0.5, 0.5);
    browser.until("document.querySelector('.maps .clock').textContent !== ''");
    let before = browser.text("document.querySelector('.maplegend').textContent");
    browser.value(
        "(() => { const slider = document.querySelector('.maps input[type=range]'); slider.value = slider.max / 2; \
         slider.dispatchEvent(new Event('input')); })()",
    );
    browser.until(&format!("document.querySelector('.maplegend').textContent !== {before:?}"));
    browser.point(".maps canvas", 0.3, 0.5);
    browser.until(
        "/^Node 0, zone .*, pageblock \\d+ \\(pfn 0x.*type /.test(document.querySelector('.hover').textContent)",
    );
    // Keys: an arrow steps back, and modes show two maps or their difference.
    let at = browser.text("document.querySelector('.maps .clock').textContent");
    browser.value("document.querySelector('.maps-keys').focus()");
    browser.press("ArrowLeft");
    browser.until(&format!("document.querySelector('.maps .clock').textContent !== {at:?}"));
    browser.value("document.querySelector('[data-mode=difference]').click()");
    browser.until("/differs from/.test(document.querySelector('.maps figcaption').textContent)");
    // Tables sort by value.
    browser.value("document.querySelectorAll('.tables th button')[1].click()");
    let sorted = "[...document.querySelectorAll('.tables table:not(.verdicts)')[0].querySelectorAll('tbody tr')]\
                  .map((row) => parseFloat(row.children[1].textContent))";
    let sorted = browser.value(sorted);
    let values: Vec<f64> = sorted.as_array().expect("a list").iter().filter_map(serde_json::Value::as_f64).collect();
    assert!(values.len() > 3 && values.is_sorted_by(|one, other| one >= other), "{values:?}");
    // Every picture has words.
    let silent = "[...document.querySelectorAll('[role=img]')].filter((one) => !one.getAttribute('aria-label')).length";
    assert_eq!(browser.value(silent), 0);
}

#[test]
fn a_report_hands_its_timeline_to_perfetto() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/a"), folder.path()).success();
    order9_line("report {}/a --perfetto -o {}/page.html", folder.path()).success();
    order9_line("export {}/a --to perfetto -o {}/a.pftrace", folder.path()).success();
    let Some(mut browser) = Browser::open(&folder.path().join("page.html"), "light") else { return };
    // A window that behaves as the Perfetto UI does: it answers PING, and takes a trace.
    browser.value(
        "(() => { window.taken = null; window.open = (url) => ({ postMessage(message, origin) { \
         if (url !== 'https://ui.perfetto.dev' || origin !== url) throw new Error(url + origin); \
         if (message === 'PING') dispatchEvent(new MessageEvent('message', { data: 'PONG', origin })); \
         else window.taken = message.perfetto; } }); document.querySelector('.perfetto').click(); })()",
    );
    browser.until("window.taken !== null");
    assert!(browser.text("window.taken.title").ends_with("/a"));
    assert_eq!(browser.text("window.taken.fileName"), "a.pftrace");
    let handed = browser.value("[...new Uint8Array(window.taken.buffer)]");
    let handed = handed.as_array().expect("bytes").iter().map(|byte| byte.as_u64().expect("a byte") as u8);
    assert!(handed.eq(fs::read(folder.path().join("a.pftrace")).expect("it was exported")));
    assert_eq!(
        browser.text("document.querySelector('.traces [role=status]').textContent"),
        "The trace is in the other window."
    );
    assert_eq!(browser.requests.len(), 1, "nothing but the page itself: {:?}", browser.requests);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_large_machine_stays_fluid_while_zooming() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    order9_line("snapshot synth --size 64G -o {}/large.o9snap", folder.path());
    order9_line("inspect {}/large.o9snap --html {}/page.html", folder.path());
    let Some(mut browser) = Browser::open(&folder.path().join("page.html"), "light") else { return };
    browser.until("document.querySelector('.maplegend table') !== null");
    // Pages of many cells are drawn once for each frame, however often they are asked for.
    let drawn = browser.value(
        "(async () => { const canvas = document.querySelector('canvas'); let frames = 0; \
         const begin = performance.now(); \
         while (frames < 60) { canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: frames % 20 < 10 ? -100 : 100, \
         clientX: 300, clientY: 300, cancelable: true})); await new Promise(requestAnimationFrame); frames++; } \
         return (performance.now() - begin) / frames; })()",
    );
    // How long a frame takes is for a person to read: a test gives the same answer on a busy machine.
    assert!(drawn.as_f64().is_some_and(f64::is_finite), "{drawn}");
    println!("a frame of zooming takes {drawn} ms");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn maps_are_the_same_in_a_repetition_and_pages_of_equal_runs_are_equal() {
    let folder = folder_with_machine();
    let maps = |name: &str| fs::read(folder.path().join(name).join("linux-6.18-seed-1.o9maps")).expect("it was stored");
    order9_line(&format!("run {SHORT} --maps 1s -o {{}}/a"), folder.path()).success();
    order9_line("run --repeat {}/a -o {}/b", folder.path()).success();
    assert_eq!(maps("a"), maps("b"));
    order9_line("report {}/a -o {}/1.html", folder.path()).success();
    order9_line("report {}/a -o {}/2.html", folder.path()).success();
    assert!(page(folder.path(), "1.html") == page(folder.path(), "2.html"), "equal runs give equal pages");
    let without = order9_line(&format!("run {SHORT} --maps 1s"), folder.path());
    assert!(without.refusal().contains("--output"), "{}", without.stderr);
}

#[test]
fn damaged_maps_are_refused_by_name() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} --maps 1s -o {{}}/a"), folder.path()).success();
    let file = folder.path().join("a/linux-6.18-seed-1.o9maps");
    let mut bytes = fs::read(&file).expect("it was stored");
    *bytes.last_mut().expect("it holds something") ^= 1;
    fs::write(&file, bytes).expect("it can be written");
    let refused = order9_line("report {}/a -o {}/page.html", folder.path());
    assert!(refused.refusal().contains("linux-6.18-seed-1.o9maps: checksum"), "{}", refused.stderr);
    assert!(!folder.path().join("page.html").exists(), "nothing is left behind");
}

#[test]
fn parts_stand_alone() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} --policy linux-5.0 --policy linux-6.18 -o {{}}/a"), folder.path()).success();
    order9_line("plot {}/a nr_free_pages --html {}/plot.html", folder.path()).success();
    order9_line("plot {}/a --html {}/usual.html", folder.path()).success();
    assert!(!order9_line("compare {}/a --html {}/compare.html", folder.path()).success().is_empty());
    let host = bundled("host-6.18.o9snap");
    if host.exists() {
        fs::copy(host, folder.path().join("host.o9snap")).expect("it can be copied");
        order9_line("inspect {}/host.o9snap --html {}/inspect.html", folder.path()).success();
    }
    for name in ["plot.html", "usual.html", "compare.html"] {
        assert!(page(folder.path(), name).ends_with("</html>\n"), "{name}");
        let Some(mut browser) = Browser::open(&folder.path().join(name), "light") else { continue };
        assert!(browser.value("document.querySelectorAll('h2').length").as_u64() >= Some(1), "{name}");
        assert_eq!((browser.requests.len(), browser.complaints.len()), (1, 0), "{name}: {:?}", browser.complaints);
    }
}

#[test]
fn what_makes_no_page_is_said() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/a"), folder.path()).success();
    let refusal = |line: &str| order9_line(line, folder.path()).refusal().to_owned();
    assert!(refusal("report {}/none -o {}/page.html").contains("none"));
    assert!(refusal("report {}/a -o {}").contains("is a directory, expected a file to write"));
    assert!(refusal("run idle --maps never -o {}/b").contains("expected a length of time such as \"10s\""));
    assert!(refusal("plot {}/a nr_fre_pages --html {}/page.html").contains("did you mean"));
    assert!(!folder.path().join("page.html").exists());
}
