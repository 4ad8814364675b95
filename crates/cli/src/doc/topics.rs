//! Topics by name: what each has to say.

use order9_lab::{counter_meaning, counter_names};
use order9_policy::{List, Switch, Values, load, switches};
use order9_report::table::wrap;
use order9_units::{CounterKind, CounterMeaning, CounterUnit};

use super::pages::{page, pages};

/// Columns of lists of names.
const WIDTH: usize = 100;

/// Everything about `topic`, a part for each kind of thing that is called so.
pub(super) fn parts(topic: &str) -> Vec<String> {
    let word = topic.to_lowercase();
    let is_of = |name: &str| name == topic || name.rsplit_once('.').is_some_and(|(_, key)| key == topic);
    let mut parts = words(&word);
    parts.extend(counter_meaning(topic).map(|meaning| counter(topic, meaning)));
    parts.extend(switches().filter(|switch| is_of(switch.key)).map(switch));
    parts.extend(settings(topic));
    let document = page(word.strip_suffix(".md").unwrap_or(&word)).map(|page| page.text.to_owned());
    match document {
        Some(text) => parts.push(text),
        None if !parts.is_empty() => parts.extend(mentions(topic)),
        None => {}
    }
    parts
}

/// All names that [`parts`] knows.
pub(super) fn names() -> Vec<&'static str> {
    let glossary = glossary().into_iter().map(|row| row.name());
    let settings = setting_rows().into_iter().map(|row| row.name());
    let pages = pages().map(|page| page.name);
    pages.chain(glossary).chain(switches().map(|switch| switch.key)).chain(settings).chain(counter_names()).collect()
}

/// The topics, by kind.
pub(super) fn list() -> String {
    let pages: String = pages().map(|page| format!("- {:<24} {}\n", page.name, page.title())).collect();
    let line = |names: Vec<&str>| wrap(&names.join(", "), WIDTH).trim_end().to_owned();
    format!(
        "# Topics of `order9 doc`\n\n## Pages\n\n{pages}\n## Words\n\n{}\n\n## Switches of policies\n\n{}\n\n## Settings\n\n{}\n\n## \
         Counters\n\n{}\n",
        line(glossary().iter().map(super::pages::Row::name).collect()),
        line(switches().map(|switch| switch.key).collect()),
        line(setting_rows().iter().map(super::pages::Row::name).collect()),
        line(counter_names().collect()),
    )
}

fn glossary() -> Vec<super::pages::Row> {
    page("glossary").map(|page| page.rows("word")).unwrap_or_default()
}

fn setting_rows() -> Vec<super::pages::Row> {
    page("settings").map(|page| page.rows("setting")).unwrap_or_default()
}

/// Words of the glossary that are `word`, or that have it as their name in Linux.
fn words(word: &str) -> Vec<String> {
    let rows = glossary().into_iter().filter(|row| {
        row.name().to_lowercase() == word
            || row.code("Linux name").any(|name| name.trim_end_matches("()").to_lowercase() == word)
    });
    rows.map(|row| format!("# {} (glossary)\n\n{}", row.name(), row.text())).collect()
}

fn settings(topic: &str) -> Vec<String> {
    let is_it =
        |name: &str| name == topic || name.replace('.', "/") == topic || name.rsplit(['.', '/']).next() == Some(topic);
    let rows = setting_rows().into_iter().filter(|row| is_it(row.name()) || row.code("file").any(|path| path == topic));
    rows.map(|row| format!("# {} (setting)\n\n{}", row.name(), row.text())).collect()
}

fn counter(name: &str, meaning: CounterMeaning) -> String {
    let unit = match meaning.unit {
        CounterUnit::Events => "a number of things",
        CounterUnit::Pages => "base pages of 4 KiB",
        CounterUnit::Blocks => "blocks of 2 MiB",
        CounterUnit::Kibibytes => "KiB",
        CounterUnit::Percent => "percent",
        CounterUnit::Thousandths => "thousandths",
        CounterUnit::Nanoseconds => "nanoseconds",
    };
    let kind = match meaning.kind {
        CounterKind::Event => "counts since boot and never falls",
        CounterKind::Level => "a level, which rises and falls",
    };
    let place =
        if name.starts_with("order9_") { "of order9, which Linux does not have" } else { "a field of /proc/vmstat" };
    format!("# {name} (counter)\n\n- kind: {kind}\n- unit: {unit}\n- place: {place}\n")
}

/// The switch, its values, and the built-in policies that have each.
fn switch(switch: &'static Switch) -> String {
    let sysctl = switch.sysctl.map(|name| format!("- setting: {name}\n")).unwrap_or_default();
    let mut text = format!("# {} (switch)\n\n{}.\n\n{sysctl}", switch.key, switch.meaning);
    let mut values: Vec<(order9_policy::Value, Vec<&str>)> = Vec::new();
    for listed in List::new().map(|list| list.policies).unwrap_or_default() {
        let Ok(loaded) = load(listed.name) else { continue };
        let value = switch.get(&loaded.policy);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, policies)) => policies.push(listed.name),
            None => values.push((value, vec![listed.name])),
        }
    }
    for (value, policies) in &values {
        let (does, releases) = (switch.sentence(*value), switch.releases(*value));
        text += &format!("- {value}: {does} ({releases}). Built-in policies: {}\n", policies.join(", "));
    }
    let unused = switch
        .values
        .cases()
        .into_iter()
        .filter(|case| !values.iter().any(|(value, _)| value.to_string().trim_matches('"') == case.name));
    text.extend(
        unused.map(|case| format!("- {}: {} ({}). Built-in policies: none\n", case.name, case.says, case.releases)),
    );
    if let Values::Number { range, .. } = &switch.values {
        text += &format!("- takes {} to {}\n", range.start(), range.end());
    }
    text
}

/// Pages that have the topic as code.
fn mentions(topic: &str) -> Option<String> {
    let pages: Vec<_> = pages().filter(|page| page.mentions(topic)).map(|page| page.name).collect();
    (!pages.is_empty()).then(|| format!("Pages that mention it: {}\n", pages.join(", ")))
}
