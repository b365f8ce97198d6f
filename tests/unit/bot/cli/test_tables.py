"""What people read about what was learned, as it stands on their screen."""

from __future__ import annotations

import io

from inline_snapshot import snapshot
from rich.console import Console

from bot.cli import tables
from bot.cli.console import TextTable, print_tables
from memory.evaluation.audit import Alarm, AuditCheck, AuditItem
from memory.evaluation.control_arm import ArmDifference, Uplift
from memory.evaluation.findings import AddressedShare, HiddenShare
from memory.evaluation.off_policy import EstimatedValue, Estimates
from memory.evaluation.pooling import PooledUplift
from memory.evaluation.rollback import VersionComparison, VersionJudgement
from memory.intervals import ConfidenceSequence
from memory.model import EditShape
from memory.skills import Skill, SkillState
from memory.stats import ArmStats, CostPerAccepted, Costs, MissedEarlier, RuleAcceptance, Stats
from memory.store.calls import PurposeCost

BAND = ConfidenceSequence(mean=-0.2, low=-0.3, high=-0.1, n=400)


def lines(sheets: list[TextTable]) -> str:
    printed = io.StringIO()
    print_tables(sheets, Console(file=printed, color_system=None, width=60, soft_wrap=True))
    return printed.getvalue()


def test_costs_are_told_where_a_model_was_asked() -> None:
    """What calls took, and what an accepted finding cost, at the end of the statistics."""
    spent = PurposeCost(
        repository="o/r",
        purpose="repair",
        tier="strong",
        calls=3,
        open=0,
        failed=1,
        prompt=9000,
        cached=6000,
        completion=700,
        micros=41_500,
        estimated=0,
    )
    priced = CostPerAccepted(
        what="finding", tasks=4, accepted=2, tokens=9000, micros=41_500, tokens_each=4500.0, micros_each=20_750.0
    )
    unpriced = CostPerAccepted(
        what="fix", tasks=1, accepted=0, tokens=700, micros=0, tokens_each=None, micros_each=None
    )
    sheets = tables.costs(Costs(calls=(spent,), per_accepted=(priced, unpriced)))
    assert tables.costs(None) == []
    assert lines(sheets) == snapshot("""\
Model costs
  repository  purpose  model   calls  failed  read  from cache  written  US dollars
  o/r         repair   strong  3      1       9000  6000        700      0.0415
  an accepted finding: 4500 tokens, 0.0208 US dollars (2 accepted, 4 tasks)
  an accepted fix: not known yet, none of 1 tasks led to one
""")


def test_stats() -> None:
    """Both arms, what may be said of the difference, what was kept quiet, and the patterns."""
    unknown = ArmDifference(difference=None, low=None, high=None, verdict="not known yet")
    uplift = Uplift(
        measure="fixed", learned=2, control=0, difference=None, low=None, high=None, verdict="not known yet",
        further=200, outlook="about 200 more repairs until there is a figure",
    )  # fmt: skip
    found = Stats(
        arms=(
            ArmStats(
                arm="learned",
                tasks=2,
                fixed=1,
                rate=0.5,
                rate_low=0.1,
                rate_high=0.9,
                mean_candidates=12.5,
            ),
            ArmStats(
                arm="control",
                tasks=0,
                fixed=0,
                rate=None,
                rate_low=0.0,
                rate_high=1.0,
                mean_candidates=None,
            ),
        ),
        fix_rate=unknown,
        candidates=unknown,
        uplift=(uplift,),
        pooled=PooledUplift(
            difference=0.04,
            low=-0.01,
            high=0.09,
            verdict="+0.04 (…): no difference shown",
            installations=7,
            tasks=2310,
            spread=0.02,
            own_file="ours.yml",
        ),
        addressed=(
            AddressedShare(
                action="inline_suggestion",
                findings=9,
                grave=2,
                addressed=3,
                stood=1,
                otherwise=1,
                share=0.75,
                low=0.3,
                high=0.95,
            ),
            AddressedShare(
                action="hold",
                findings=4,
                grave=0,
                addressed=0,
                stood=0,
                otherwise=0,
                share=None,
                low=0.0,
                high=1.0,
            ),
        ),
        suppression=(
            HiddenShare(action="hold", findings=90, shown=3, judged=0, effective=0.0, rate=None, low=0.0, high=1.0),
            HiddenShare(action="summary", findings=9, shown=3, judged=3, effective=3.0, rate=0.0, low=0.0, high=0.56),
        ),
        version="v1",
        since="rolled back from v2: fixed: -0.2 against control",
        patterns=(RuleAcceptance(rule="B006", decisions=4, verdicts=3.0, acceptance=1 / 3, repositories=1),),
        skills=(
            Skill(
                shape=EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1"),
                families=("assertion",),
                taught_by=("e1", "e2"),
                repositories=("o/one", "o/two"),
                teachers=(7,),
                tries=4,
                wins=1,
                rate=0.25,
                state=SkillState.ACTIVE,
            ),
            Skill(
                shape=EditShape(template="guard", before="", after="if $0 is None :"),
                families=(),
                taught_by=("e3",),
                repositories=("o/one",),
            ),
        ),
        missed=MissedEarlier(findings=2, unread=1, of=99),
        actions={},
        signals={},
    )
    assert lines(tables.stats(found)) == snapshot("""\
Repairs by arm, policy v1
  arm      repairs  fixed    95 % interval  candidates to a fix
  learned  2        1 (50%)  10% to 90%     12.5
  control  0
  not the newest: rolled back from v2: fixed: -0.2 against control
  fix rate: not known yet
  candidates to the first fix: not known yet
  fixed, valid at every look: not known yet
  fixed, still to go: about 200 more repairs until there is a figure
  fixed, pooled over 7 installations, 2,310 repairs: +0.04 (…): no difference shown; between installations ± 0.02; ours.yml is of this one, whose ledger is counted instead

Outcomes of findings
  action                  findings  grave  addressed  silenced or left  removed otherwise  share addressed
  inline with suggestion  9         2      3          1                 1                  75% (30% to 95%)
  hold                    4         0      0          0                 0                  not known yet

Hidden findings
  action   findings  shown anyway  judged  would have been accepted
  hold     90        3             0       not known yet
  summary  9         3             3       0% (0% to 56%)

Findings missed in an earlier round
  2 of 99 posted, 1 of them in files not fully read then

Acceptance by rule
  rule  decisions  verdicts  acceptance  repositories
  B006  4          3.0       0.33        1

Skills
  skill                       state   edit                wins of tries  rate  learned in
  comparison_operator-6ce6d3  active  $0 < $1 → $0 <= $1  1 of 4         0.25  o/one, o/two
  1 more wait for an accepted fix
""")


def test_evaluations() -> None:
    """Figures with their intervals, a refusal with its reason, and what the roll-back rule says."""
    figure = EstimatedValue(value=0.5, low=0.4, high=0.6)
    good = Estimates(
        n=500,
        tasks=300,
        effective=210.0,
        clipped=0.01,
        judged=90,
        judged_effective=60.0,
        ips=figure,
        snips=figure,
        dr=figure,
        acceptance=figure,
        value=figure,
    )
    bad = Estimates(
        n=300,
        tasks=300,
        effective=3.0,
        clipped=0.0,
        judged=90,
        judged_effective=2.0,
        refused="too different",
    )
    judged = VersionJudgement(
        version="v2",
        comparisons=(
            VersionComparison(against="control", measure="fixed and accepted", band=BAND),
            VersionComparison(against="v1", measure="proof target", band=None, unknown="12 decisions"),
        ),
        use="v1",
    )
    found = {"greedy": good, "rare": bad}
    assert lines(tables.evaluations(found, judged, "2026-01-01")) == snapshot("""\
Mean proof target of one decision, in the states of the log, decisions from 2026-01-01 on
  policy  n    worth  IPS               SNIPS             doubly robust     accepted if proven  accepted
  greedy  500  210    0.50 (0.40–0.60)  0.50 (0.40–0.60)  0.50 (0.40–0.60)  0.50 (0.40–0.60)    0.50 (0.40–0.60)
  rare    300  3
  rare: refused: too different
  greedy: 1.0% of weights were cut

Policy in use: v2; fixed and accepted: -0.200 against control (always-valid interval -0.300 to -0.100, 400 tasks); the next daily check goes back to v1
  against  measure             difference     always-valid interval
  control  fixed and accepted  -0.200         -0.300 to -0.100
  v1       proof target        not known yet  12 decisions
""")


def test_audit() -> None:
    """What to look at, with the first few ids; nothing is said to be nothing."""
    item = AuditItem(
        check=AuditCheck.TOOL_ERRORS,
        alarm=Alarm.WARNING,
        about="repairs",
        what="5 of 9 decisions were never concluded",
        evidence=("d1", "d2", "d3", "d4", "d5"),
        advice="look at their tasks",
    )
    assert lines(tables.audit([item])) == snapshot("""\
1 to look at
  alarm    about    what                                   where                  what to do
  warning  repairs  5 of 9 decisions were never concluded  d1, d2, d3 and 2 more  look at their tasks
  all ids: --json
""")
    assert lines(tables.audit([])) == "Nothing to look at\n"
