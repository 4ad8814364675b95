//! What is wrong with a scenario file is said with file and line.

use std::fs;

use order9_lab::scenario::Scenario;

/// The sentence that refuses `text`, without the folder of its file.
#[track_caller]
fn refusal(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("mine.toml");
    fs::write(&path, text).expect("the file can be written");
    let read = Scenario::named(path.to_str().expect("UTF-8")).and_then(|scenario| scenario.plan(Vec::new()));
    let message = read.expect_err("a refusal").to_string();
    assert!(!message.contains('\n'), "one line: {message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(refusal(text), expected);
}

#[test]
fn keys_that_do_not_exist() {
    refused("workload = 'usemem'\npolices = []", "mine.toml, line 2: unknown key polices; did you mean policies?");
    refused(
        "workload = 'usemem'\n[record]\nevry = '1s'",
        "mine.toml, line 3: unknown key record.evry; did you mean record.every?",
    );
    refused(
        "workload = 'usemem'\n[memory]\nfil = 0.1",
        "mine.toml, line 3: unknown key memory.fil; did you mean memory.fill?",
    );
    refused(
        "workload = 'usemem'\n[paramters]\nsize = 1",
        "mine.toml, line 2: unknown key paramters; did you mean parameters?",
    );
    refused(
        "workload = 'usemem'\n[parameters]\nsiez = '1G'",
        "mine.toml, line 3: usemem has no parameter siez; did you mean size?",
    );
}

#[test]
fn kernel_parameters_that_do_not_exist() {
    let old = "policies = ['linux-5.0']\n[boot]\ncmdline = 'transparent_hugepage_shmem=always'";
    refused(
        &format!("workload = 'idle'\n{old}"),
        "mine.toml, line 4: transparent_hugepage_shmem= does not exist under linux-5.0: `thp/shmem_enabled` at the start \
         (6.13+)",
    );
    let boot = |text: &str| refusal(&format!("workload = 'idle'\n[boot]\ncmdline = \"{text}\""));
    assert_eq!(
        boot("transparent_hugepages=never"),
        "mine.toml, line 3: no kernel parameter is called 'transparent_hugepages'; did you mean transparent_hugepage?; \
         docs/settings.md names all"
    );
    assert!(boot("hugepages=8 quiet").contains("no kernel parameter is called 'quiet'"));
    assert!(boot("hugepages=0:8").contains("hugepages=0:8 is not modelled yet"));
    refused(
        "workload = 'idle'\n[boot]\ncmdlin = ''",
        "mine.toml, line 3: unknown key boot.cmdlin; did you mean boot.cmdline?",
    );
}

#[test]
fn workloads_that_do_not_exist() {
    refused("seeds = 1", "mine.toml, line 1: expected a workload, such as workload = \"usemem\"");
    assert!(
        refusal("\nworkload = 'usemen'")
            .starts_with("mine.toml, line 2: no workload is called 'usemen'; did you mean usemem?")
    );
    assert!(refusal("workload = 5").starts_with("mine.toml, line 1: workload is 5, expected"));
    assert!(refusal("workload = ").starts_with("mine.toml, line 1: "));
}

#[test]
fn values_that_are_not_taken() {
    let value = |line: &str| refusal(&format!("workload = 'usemem'\n{line}"));
    assert_eq!(value("seeds = 0"), "mine.toml, line 2: seeds is \"0\", expected how many seeds, from 1 to 10000");
    assert!(value("seeds = [1, 1]").contains("a list of different whole numbers"));
    assert!(value("seeds = []").contains("a list of different whole numbers"));
    assert!(value("policies = []").contains("expected a list of policies"));
    assert!(value("policies = 'linux-5.0'").contains("expected a list of policies"));
    assert!(value("parameters = 3").contains("expected a table"));
    assert!(value("[parameters]\nloops = 0").contains("line 3: loops is \"0\", expected a number from 1 to 1000000"));
    assert!(value("[parameters]\nsize = '1K'").contains("at least 2097152 bytes"));
    assert!(value("[parameters]\nthreads = [1, 'x']").contains("expected a list of whole numbers"));
    assert!(value("[record]\nevery = '0s'").contains("at least \"1ms\""));
    assert!(value("[record]\nevents = ['mm_page_fre']").contains("did you mean mm_page_free?"));
    assert!(value("[record]\ncheck = -1").contains("a number of steps"));
    assert!(
        value("[memory]\nstart = 'synthetic'\nfill = 1.2").contains("line 4: memory.fill is \"1.2\", expected a share")
    );
}

#[test]
fn parts_that_do_not_go_together() {
    let memory = |line: &str| refusal(&format!("workload = 'idle'\n{line}"));
    assert!(memory("[memory]\nfill = 0.5").contains("memory needs start"));
    assert!(memory("[memory]\nstart = 'snapshot'").contains("needs memory.path"));
    assert!(memory("[memory]\nstart = 'empty'\npath = 'x'").contains("line 4: memory.path goes with"));
    assert!(memory("[memory]\nstart = 'full'").contains("\"empty\" or \"synthetic\" or \"snapshot\""));
    assert!(memory("prices = 'epyc-vm'").contains("line 2: prices are asked for with a snapshot only"));
    assert!(memory("policies = ['linux-5.0', 'linux-5.0']").contains("two policies are called linux-5.0"));
}

#[test]
fn names_in_a_file_that_lead_nowhere() {
    let value = |line: &str| refusal(&format!("workload = 'idle'\n{line}"));
    assert!(
        value("policies = ['linux-5.00']")
            .starts_with("mine.toml, line 2: no policy is called 'linux-5.00'; did you mean")
    );
    assert!(
        value("machine = 'xeon-3s'").starts_with("mine.toml, line 2: no machine is called 'xeon-3s'; did you mean")
    );
    assert!(value("machine = 'gone.o9snap'").contains("line 2: gone.o9snap: no such file or directory"));
    // A file is looked for beside the scenario.
    assert_eq!(value("policies = ['gone.toml']"), "mine.toml, line 2: gone.toml: no such file or directory");
}

#[test]
fn settings_are_tried_before_the_run() {
    let setting = |line: &str| refusal(&format!("workload = 'idle'\npolicies = ['linux-4.4']\n[settings]\n{line}"));
    assert!(
        setting("\"vm.swapines\" = 1")
            .contains("line 4: no setting is called 'vm.swapines'; did you mean vm.swappiness?")
    );
    assert!(setting("vm.oom_dump_tasks = 1").contains("line 4: vm.oom_dump_tasks is not modelled yet"));
    assert_eq!(
        setting("vm.min_free_kbytes = -1"),
        "mine.toml, line 4: vm.min_free_kbytes is \"-1\", expected 0 to 2147483647 (kB)"
    );
    assert!(
        setting("vm.watermark_boost_factor = 0").contains("vm.watermark_boost_factor does not exist under linux-4.4: ")
    );
}
