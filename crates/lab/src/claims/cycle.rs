//! The cycle of proactive compaction, as the fragmentation score of a node goes through it: compaction begins at a high mark and ends at a
//! low one. Both are read off the score, not off the setting.

use order9_record::Run;

/// Points by which the score has to turn back before that counts: the score of a zone that nobody compacts wavers by one or two.
const TURN: i64 = 4;

/// The score where compaction ended: the median of the lows of the score; `None` where it did not fall twice.
pub(super) fn low_mark(run: &Run) -> Option<f64> {
    median(turns(&score(run)?).lows)
}

/// The score where compaction began: the median of the highs before each fall; `None` where it did not fall twice.
pub(super) fn high_mark(run: &Run) -> Option<f64> {
    median(turns(&score(run)?).highs)
}

/// Scores from which the score fell, and to which it fell before it rose again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Turns {
    highs: Vec<i64>,
    lows: Vec<i64>,
}

/// The score over the measured phase of a node whose memory is one zone, so that the score of the zone is that of its node.
fn score(run: &Run) -> Option<Vec<i64>> {
    let counters = &run.counters;
    let zones = counters.columns.iter().filter_map(|column| Some((node_of(&column.name)?, column)));
    let is_alone = |node: &str| zones.clone().filter(|(other, _)| *other == node).count() == 1;
    let (_, zone) = zones.clone().find(|(node, _)| is_alone(node))?;
    let phase = run.phases.iter().find(|phase| phase.name == "measure")?;
    let readings = counters.times.iter().zip(&zone.values);
    let measured = readings.filter(|(time, _)| (phase.begin..=phase.end).contains(*time));
    Some(measured.map(|(_, score)| *score as i64).collect())
}

/// The node of the zone whose score a counter is.
fn node_of(counter: &str) -> Option<&str> {
    Some(counter.strip_prefix("order9_nr_fragmentation_score_")?.split_once('_')?.0)
}

fn turns(scores: &[i64]) -> Turns {
    let mut turns = Turns::default();
    let Some(&first) = scores.first() else { return turns };
    let (mut high, mut low, mut is_falling) = (first, first, false);
    for &score in scores {
        (high, low) = (high.max(score), low.min(score));
        if is_falling && score >= low + TURN {
            turns.lows.push(low);
            (high, is_falling) = (score, false);
        } else if !is_falling && score <= high - TURN {
            turns.highs.push(high);
            (low, is_falling) = (score, true);
        }
    }
    turns
}

/// The middle one of at least two scores, the lower of the two in the middle.
fn median(mut scores: Vec<i64>) -> Option<f64> {
    scores.sort_unstable();
    (scores.len() > 1).then(|| scores[(scores.len() - 1) / 2] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_where_the_score_goes_back_by_some_points() {
        let scores = [82, 86, 91, 90, 92, 88, 82, 83, 81, 84, 87, 93, 81];
        assert_eq!(turns(&scores), Turns { highs: vec![92, 93], lows: vec![81] });
        assert_eq!(turns(&[]), Turns::default());
        assert_eq!(turns(&[80, 82, 80, 83, 81]), Turns::default(), "it wavers");
    }

    #[test]
    fn one_turn_is_no_cycle() {
        assert_eq!(median(vec![92]), None);
        assert_eq!(median(vec![93, 91, 92]), Some(92.0));
        assert_eq!(median(vec![93, 91]), Some(91.0));
    }
}
