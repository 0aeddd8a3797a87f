//! The verdict on one entry, from what its exchanges came to. Pure, and all of it: no other place decides, and whoever
//! counts findings (a check, the live proxy, replay, rejudge) asks [`blames`] here.
//!
//! In: [`Evidence`]. Out: a [`Verdict`] and, where it is no plain pass or fail, why. Bias: we would rather miss a fault
//! than blame chance, so a difference in what was said is a fail only if both said it of equal tokens. The first line that
//! holds decides:
//!
//! | what holds | verdict |
//! | --- | --- |
//! | a transport broke or hung, or nothing usable came | `error` |
//! | an error that needs no proof, or has it: a breach, a difference in form or status, a proven difference | `fail` |
//! | a server was busy, also after retries | `inconclusive` |
//! | one mode disagrees with itself, and the modes do not differ far more often | `unstable` |
//! | a milder difference of that kind | `fail` |
//! | refused alike in both modes, where no error is right | `error` |
//! | a difference that lacks its proof | `suspect` |
//! | nothing of all this | `pass`, if both modes answered, showed what was needed, and all of it was compared |
//!
//! So what an answer does wrong by itself is told whatever became of the comparison. How a busy server says so, or one that
//! refuses everything, is no answer: its breaches are listed and decide nothing. Beside a `fail` or an `error` the differences
//! that lack proof are no more than a remark: they would blame chance.

use super::{Verdict, noise::Noise};
use crate::{
    finding::{Finding, compares},
    request::case::Need,
    rules::Severity,
};
use std::collections::BTreeSet;

/// What an exchange came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A 2xx reply that holds an answer.
    Answered,
    /// An error as the answer, by status or inside the stream.
    Refused(String),
    /// 429, 503 or 529, also after retries.
    Busy(u16),
    /// No usable answer: refused connection, hang, broken transport, a page of HTML.
    Broken(String),
}

/// Something that was found, as far as the verdict cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighed {
    /// The rule that says so.
    pub rule: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What kind of statement it is.
    pub kind: Kind,
}

/// What kind of statement a finding is, and what it takes to believe it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A rule broken inside one exchange. It needs no twin and no proof.
    Breach,
    /// Replies differ in shape, status, envelope or ids, which chance does not touch as long as each mode agrees with
    /// itself.
    Structure,
    /// Replies differ in what was said, or a reply is not what it should be, and the tokens are known.
    Proven,
    /// The same, and the tokens are not known to be equal.
    Unproven,
}

/// Whether the replies show what the entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// All do.
    Met,
    /// None does, and token counts or ids that are alike in both modes say that the model did not say it.
    Unsaid(Need),
    /// None does, and nothing says what the model wrote.
    Unknown(Need),
    /// Some do and some do not.
    Mixed(Need),
}

/// All that the verdict rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What each exchange came to, in the order sent.
    pub outcomes: Vec<Outcome>,
    /// What was found.
    pub found: Vec<Weighed>,
    /// Where one mode disagrees with itself without proof of equal tokens.
    pub unstable: Option<String>,
    /// How often answers differ, where that could be estimated.
    pub noise: Option<Noise>,
    /// Whether an error is the right answer.
    pub error: ErrorIs,
    /// Whether the replies show what the entry is for.
    pub needs: Needs,
    /// Why the puppet did not say its text, alike in both modes, if it did not.
    pub unsaid: Option<String>,
    /// A response id that both modes share: a cache answered.
    pub shared_id: Option<String>,
    /// Whether both modes were asked.
    pub modes: Modes,
    /// How many choices were asked for or came: the first alone is compared.
    pub choices: u64,
}

/// Whether both modes were asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modes {
    /// They were.
    Both,
    /// One was: there is nothing to compare with.
    One,
}

/// What an error as the answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorIs {
    /// The right answer.
    Expected,
    /// No answer.
    Unexpected,
}

type Said = (Verdict, Option<String>);

/// The verdict, and why.
pub fn verdict(evidence: &Evidence) -> Said {
    if let Some(why) = evidence.broken() {
        return (Verdict::Error, Some(why));
    }
    if evidence.is_wrong(Severity::Error) {
        return (Verdict::Fail, None);
    }
    if let Some(status) = evidence.busy() {
        return (Verdict::Inconclusive, Some(format!("status {status}, also after retries")));
    }
    if let Some(where_) = &evidence.unstable {
        return (Verdict::Unstable, Some(evidence.with_noise(where_)));
    }
    if evidence.is_wrong(Severity::Warn) {
        return (Verdict::Fail, None);
    }
    if let Some(why) = evidence.refused() {
        return (Verdict::Error, Some(why));
    }
    if evidence.has(Kind::Unproven, Severity::Warn) {
        return (
            Verdict::Suspect,
            Some(evidence.with_noise("the replies differ; equal tokens are not proven")),
        );
    }
    evidence.exercised()
}

/// Whether a finding of an entry with this verdict counts against the server. What a server says while it is busy, and what
/// was there only once, blames nobody. Where the comparison came to nothing a difference does not either; a rule that one
/// exchange broke by itself needs no comparison.
pub fn blames(verdict: Verdict, finding: &Finding) -> bool {
    match verdict {
        Verdict::Pass | Verdict::Fail | Verdict::Error => true,
        Verdict::Suspect | Verdict::Skipped => !compares(&finding.rule),
        Verdict::Unstable | Verdict::Inconclusive => false,
    }
}

/// Whether the comparison came to something, or there is no answer at all to be compared.
const fn is_settled(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::Fail | Verdict::Error)
}

// === impl Evidence ===

impl Evidence {
    /// A reason, with the figures that say how much of it chance explains.
    fn with_noise(&self, reason: &str) -> String {
        self.noise.map_or_else(|| reason.to_owned(), |noise| format!("{reason} ({noise})"))
    }

    fn broken(&self) -> Option<String> {
        if self.outcomes.is_empty() {
            return Some("nothing was sent".to_owned());
        }
        self.outcomes.iter().find_map(|o| if let Outcome::Broken(why) = o { Some(why.clone()) } else { None })
    }

    fn busy(&self) -> Option<u16> {
        self.outcomes.iter().find_map(|o| if let Outcome::Busy(status) = o { Some(*status) } else { None })
    }

    /// Why nobody answered, if all exchanges were refused and that is not right.
    fn refused(&self) -> Option<String> {
        let [Outcome::Refused(why), others @ ..] = self.outcomes.as_slice() else { return None };
        let is_alike = others.iter().all(|o| matches!(o, Outcome::Refused(_)));
        (is_alike && self.error == ErrorIs::Unexpected).then(|| format!("refused alike in both modes: {why}"))
    }

    /// Rules of which every finding here lacks the proof that it takes. Beside a verdict that counts findings they are
    /// remarks.
    pub fn remarks(&self, verdict: Verdict) -> BTreeSet<&'static str> {
        let of = |is_unproven: bool| {
            self.found.iter().filter(move |f| (f.kind == Kind::Unproven) == is_unproven).map(|f| f.rule)
        };
        let stands: BTreeSet<_> = of(false).collect();
        of(true).filter(|rule| is_settled(verdict) && !stands.contains(rule)).collect()
    }

    /// Nothing is wrong; whether enough came to say that it is right.
    fn exercised(&self) -> Said {
        if self.modes == Modes::One {
            return (Verdict::Skipped, Some("asked in one mode only".to_owned()));
        }
        if let Some(why) = &self.unsaid {
            return (Verdict::Skipped, Some(why.clone()));
        }
        if self.choices > 1 {
            let why = format!("n > 1: only the first of {} choices is compared", self.choices);
            return (Verdict::Skipped, Some(why));
        }
        if let Some(id) = &self.shared_id {
            return (
                Verdict::Suspect,
                Some(format!("both modes share the response id {id}: a cache answered")),
            );
        }
        match self.needs {
            Needs::Met => (Verdict::Pass, None),
            Needs::Unsaid(need) => (
                Verdict::Skipped,
                Some(format!("needs {}; the model says none, alike in both modes", words(need))),
            ),
            Needs::Unknown(need) => {
                let why = format!("needs {}; no reply shows it, and no token count says why", words(need));
                (Verdict::Suspect, Some(why))
            }
            Needs::Mixed(need) => {
                (Verdict::Suspect, Some(format!("needs {}; only some replies show it", words(need))))
            }
        }
    }

    /// Whether something is wrong that needs no proof or has it. Of breaches only errors are; of differences all that
    /// are bad enough, since a pass means that there is none.
    fn is_wrong(&self, least: Severity) -> bool {
        let is_broken = self.has(Kind::Breach, Severity::Error) && self.refused().is_none();
        is_broken || self.has(Kind::Structure, least) || self.has(Kind::Proven, least)
    }

    fn has(&self, kind: Kind, least: Severity) -> bool {
        self.found.iter().any(|found| found.kind == kind && found.severity >= least)
    }
}

/// A need, in words that fit after "needs".
fn words(need: Need) -> &'static str {
    match need {
        Need::Call => "a call",
        Need::Calls => "two calls",
        Need::Reasoning => "reasoning",
        Need::Length => "finish length",
        Need::Text => "content",
        Need::Error => "an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Answered, Broken, Busy, Refused};
    use Severity::{Error, Info, Warn};

    fn refused() -> Outcome {
        Refused("status 400".to_owned())
    }

    /// Two answers that agree and show what was needed.
    fn two() -> Evidence {
        Evidence {
            outcomes: vec![Answered, Answered],
            found: Vec::new(),
            unstable: None,
            noise: None,
            error: ErrorIs::Unexpected,
            needs: Needs::Met,
            unsaid: None,
            shared_id: None,
            modes: Modes::Both,
            choices: 1,
        }
    }

    fn weighed(severity: Severity, kind: Kind) -> Weighed {
        Weighed { rule: "parity/content", severity, kind }
    }

    fn found(severity: Severity, kind: Kind) -> Evidence {
        Evidence { found: vec![weighed(severity, kind)], ..two() }
    }

    fn outcomes(outcomes: &[Outcome]) -> Evidence {
        Evidence { outcomes: outcomes.to_vec(), ..two() }
    }

    fn check(evidence: &Evidence, expect: Verdict) {
        assert_eq!(verdict(evidence).0, expect, "{evidence:?}");
    }

    #[test]
    fn two_answers_that_agree_pass() {
        check(&two(), Verdict::Pass);
        check(&found(Info, Kind::Proven), Verdict::Pass);
        check(&found(Warn, Kind::Breach), Verdict::Pass);
    }

    #[test]
    fn what_is_compared_in_part_never_passes() {
        let several = |evidence: Evidence| Evidence { choices: 2, ..evidence };
        check(&several(two()), Verdict::Skipped);
        let why = verdict(&several(two())).1;
        assert_eq!(why.as_deref(), Some("n > 1: only the first of 2 choices is compared"));
        check(&several(found(Error, Kind::Proven)), Verdict::Fail);
        check(&several(found(Error, Kind::Breach)), Verdict::Fail);
        check(&several(found(Error, Kind::Unproven)), Verdict::Suspect);
    }

    #[test]
    fn content_fails_on_proof_only() {
        check(&found(Error, Kind::Proven), Verdict::Fail);
        check(&found(Warn, Kind::Proven), Verdict::Fail);
        check(&found(Error, Kind::Unproven), Verdict::Suspect);
        check(&found(Warn, Kind::Unproven), Verdict::Suspect);
    }

    #[test]
    fn structure_fails_without_proof() {
        check(&found(Error, Kind::Breach), Verdict::Fail);
        check(&found(Error, Kind::Structure), Verdict::Fail);
        let mut both = found(Error, Kind::Unproven);
        both.found.push(weighed(Error, Kind::Structure));
        check(&both, Verdict::Fail);
    }

    #[test]
    fn a_mode_that_disagrees_with_itself_is_unstable_unless_something_needs_no_comparison() {
        let unstable = |evidence| Evidence { unstable: Some("content".to_owned()), ..evidence };
        check(&unstable(two()), Verdict::Unstable);
        check(&unstable(found(Error, Kind::Unproven)), Verdict::Unstable);
        check(&unstable(found(Warn, Kind::Breach)), Verdict::Unstable);
        check(&unstable(found(Warn, Kind::Structure)), Verdict::Unstable);
        for kind in [Kind::Breach, Kind::Structure, Kind::Proven] {
            check(&unstable(found(Error, kind)), Verdict::Fail);
        }
    }

    #[test]
    fn what_lacks_proof_is_a_remark_beside_what_has_it() {
        let of = |rule, kind| Weighed { rule, severity: Error, kind };
        let found = vec![
            of("parity/content", Kind::Unproven),
            of("parity/finish-reason", Kind::Unproven),
            of("parity/finish-reason", Kind::Proven),
            of("openai-chat/role-repeated", Kind::Breach),
        ];
        let evidence = Evidence { found, ..two() };
        assert_eq!(Vec::from_iter(evidence.remarks(Verdict::Fail)), ["parity/content"]);
        assert_eq!(Vec::from_iter(evidence.remarks(Verdict::Error)), ["parity/content"]);
        assert_eq!(evidence.remarks(Verdict::Suspect), BTreeSet::new(), "there it is what is said");
    }

    #[test]
    fn a_difference_blames_nobody_where_the_comparison_came_to_nothing() {
        use crate::finding::example::finding;
        let check = |verdict, expect: [bool; 2]| {
            let breach = finding("openai-chat/role-repeated", "", &["1"]);
            for rule in ["parity/content", "expect/content", "truth/content"] {
                let difference = finding(rule, "content", &["1"]);
                assert_eq!([blames(verdict, &difference), blames(verdict, &breach)], expect, "{verdict:?}");
            }
        };
        for verdict in [Verdict::Pass, Verdict::Fail, Verdict::Error] {
            check(verdict, [true, true]);
        }
        for verdict in [Verdict::Suspect, Verdict::Skipped] {
            check(verdict, [false, true]);
        }
        for verdict in [Verdict::Unstable, Verdict::Inconclusive] {
            check(verdict, [false, false]);
        }
    }

    #[test]
    fn no_usable_answer_is_an_error() {
        let hang = Broken("hang".to_owned());
        check(&outcomes(&[]), Verdict::Error);
        check(&outcomes(&[Answered, hang.clone()]), Verdict::Error);
        check(&outcomes(&[Busy(429), hang]), Verdict::Error);
        check(&outcomes(&[refused(), refused()]), Verdict::Error);
        let outcomes = vec![Answered, Broken("hang".to_owned())];
        check(&Evidence { outcomes, ..found(Error, Kind::Breach) }, Verdict::Error);
    }

    #[test]
    fn refusals_that_differ_fail() {
        check(
            &Evidence { outcomes: vec![refused(), refused()], ..found(Error, Kind::Structure) },
            Verdict::Fail,
        );
        check(
            &Evidence { outcomes: vec![refused(), Answered], ..found(Error, Kind::Structure) },
            Verdict::Fail,
        );
        // A server that wraps its refusals oddly has still refused.
        let odd = Evidence { outcomes: vec![refused(), refused()], ..found(Error, Kind::Breach) };
        check(&odd, Verdict::Error);
        check(&Evidence { outcomes: vec![refused(), Answered], ..odd.clone() }, Verdict::Fail);
        check(&Evidence { error: ErrorIs::Expected, ..odd }, Verdict::Fail);
    }

    #[test]
    fn equal_errors_pass_where_an_error_is_right() {
        let expected = |outcomes, found| Evidence { outcomes, found, error: ErrorIs::Expected, ..two() };
        check(&expected(vec![refused(), refused()], Vec::new()), Verdict::Pass);
        let worse = vec![weighed(Error, Kind::Structure)];
        check(&expected(vec![refused(), refused()], worse), Verdict::Fail);
    }

    #[test]
    fn a_busy_server_is_inconclusive_where_nothing_else_is_wrong() {
        check(&outcomes(&[Answered, Busy(503)]), Verdict::Inconclusive);
        let busy = |found| Evidence { outcomes: vec![Answered, Busy(429)], ..found };
        check(&busy(found(Error, Kind::Unproven)), Verdict::Inconclusive);
        check(&busy(found(Warn, Kind::Breach)), Verdict::Inconclusive);
        check(&busy(found(Warn, Kind::Structure)), Verdict::Inconclusive);
        for kind in [Kind::Breach, Kind::Structure, Kind::Proven] {
            check(&busy(found(Error, kind)), Verdict::Fail);
        }
    }

    #[test]
    fn unmet_needs_are_skipped_on_token_evidence_only() {
        check(&Evidence { needs: Needs::Unsaid(Need::Call), ..two() }, Verdict::Skipped);
        check(&Evidence { needs: Needs::Unknown(Need::Call), ..two() }, Verdict::Suspect);
        check(&Evidence { needs: Needs::Mixed(Need::Call), ..two() }, Verdict::Suspect);
        check(&Evidence { unsaid: Some("9 of 12 tokens".to_owned()), ..two() }, Verdict::Skipped);
    }

    #[test]
    fn a_difference_outweighs_an_unmet_need() {
        check(&Evidence { needs: Needs::Mixed(Need::Call), ..found(Error, Kind::Proven) }, Verdict::Fail);
        check(
            &Evidence { needs: Needs::Unsaid(Need::Call), ..found(Error, Kind::Unproven) },
            Verdict::Suspect,
        );
        check(&Evidence { unsaid: Some(String::new()), ..found(Error, Kind::Breach) }, Verdict::Fail);
    }

    #[test]
    fn one_mode_alone_never_passes() {
        check(&Evidence { modes: Modes::One, ..two() }, Verdict::Skipped);
        check(&Evidence { modes: Modes::One, ..found(Error, Kind::Breach) }, Verdict::Fail);
    }

    #[test]
    fn a_cache_that_answers_both_modes_proves_nothing() {
        check(&Evidence { shared_id: Some("x".to_owned()), ..two() }, Verdict::Suspect);
    }
}
