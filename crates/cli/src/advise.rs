//! `order9 advise`.

use order9_advise::Trial;
use order9_advise::advice::{Advice, Advise};
use order9_html::maps::Maps;
use order9_html::tables::Tables;
use order9_html::{Page, Section, Text};
use order9_snapshot::census::Census;
use order9_snapshot::maps::MapSeries;

use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source::{When, Wish};
use crate::target::Target;
use crate::trial::{demand, jobs, refused, trial_of};
use crate::waiting::Waiting;

/// Tries remedies on a copy of the host, and prints the advice.
pub(crate) fn run(args: &AdviseArgs) -> Result<(), Failure> {
    let html = args.html.as_deref().map(|path| Target::new(path, true)).transpose()?;
    if args.json && html.as_ref().is_some_and(Target::is_output) {
        return Err(Failure::Usage("--json with --html -: both would go to standard output".to_owned()));
    }
    let advise = Advise { demand: demand(&args.demand)?, want: args.want, use_time: args.use_time };
    // A look at owners is stored nowhere.
    let wish = Wish { full_release: true, prices: When::Before, owners: true };
    let trial = trial_of(&args.trial, args.snapshot.as_deref(), wish)?;
    let plan = advise.plan(&trial).map_err(refused)?;
    let jobs = jobs(&plan)?;
    let waiting = Waiting::new("trying remedies on the copy");
    let advice = advise.advise(&trial, &plan, jobs).map_err(refused)?;
    drop(waiting);
    if let Some(html) = &html {
        html.write(|out| page(&trial, &advice).write(out))?;
        if html.is_output() {
            return Ok(());
        }
    }
    if args.json { print_json(&advice) } else { print(&advice.to_text()) }
}

/// The advice as a page: all remedies in a table that can be sorted, the owners, the map of the copy, and the text.
fn page(trial: &Trial, advice: &Advice) -> Page {
    let mut page =
        Page { title: format!("What would help {}", trial.name), subtitle: advice.sentence.clone(), ..Page::default() };
    let text = advice.to_text();
    let tables = Tables { verdicts: Vec::new(), tables: advice.grids(), text: text.clone() };
    let mut maps = Maps::new();
    if let Ok(census) = Census::of(&trial.snapshot) {
        maps.add(trial.name.clone(), &MapSeries::of(&census), Vec::new(), &mut page);
    }
    page.sections.push(Section::Tables(tables));
    page.sections.extend((!maps.is_empty()).then_some(Section::Maps(maps)));
    page.sections.push(Section::Text(Text { title: "In words".to_owned(), text }));
    page
}
