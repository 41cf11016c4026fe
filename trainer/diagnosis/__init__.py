"""From measured signals to findings: pure rules over one frozen window, in the order to deal with them."""

from perftui.trainer.diagnosis.judgement import Judgement, judge, judge_in_parts
from perftui.trainer.diagnosis.policy import POLICY, Policy
from perftui.trainer.diagnosis.readiness import Abstention
from perftui.trainer.diagnosis.signals import HostSignals, RankSignals, RunSignals
from perftui.trainer.diagnosis.steadied import Steadied

__all__ = [
    "POLICY",
    "Abstention",
    "HostSignals",
    "Judgement",
    "Policy",
    "RankSignals",
    "RunSignals",
    "Steadied",
    "judge",
    "judge_in_parts",
]
