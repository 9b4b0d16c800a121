"""The plan of a fit: everything it was asked for, checked, and what follows from the pairs of each data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from robust_bc.auditing.audits import audit
from robust_bc.auditing.cleaning import cleaning_of
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.normalisation import Normalisation
from robust_bc.errors import RobustBCError
from robust_bc.methods import AUTO, get_method
from robust_bc.methods.base import Method
from robust_bc.methods.direct import DirectMethod
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.methods.settings import Settings
from robust_bc.networks.history import History
from robust_bc.networks.model import Model
from robust_bc.policies.choice import Choice
from robust_bc.policies.cleaning import Cleaning
from robust_bc.policies.policy import Policy
from robust_bc.system.devices import resolve_device
from robust_bc.system.seeding import MemberSeed, check_seed
from robust_bc.training.budget import with_budget
from robust_bc.training.choosing import choose, said_of
from robust_bc.training.data import make_fleet_data
from robust_bc.training.progress import Progress, ProgressCallback
from robust_bc.training.threads import threads_for
from robust_bc.training.trainer import Trainer

AUDIT_STEPS = 500
"""Steps that an audit counts as; only for progress bars."""


@dataclass(frozen=True)
class Learner:
    """How one policy is learned: a method and its settings, with nothing left open."""

    method: Method[Any]
    settings: Settings
    choice: Choice | None

    @property
    def network_settings(self) -> NetworkSettings:
        """The settings, of a method that trains networks."""
        if not isinstance(self.settings, NetworkSettings):
            raise TypeError(f"'{self.method.name}' trains no networks")
        return self.settings


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Everything a fit was asked for, checked."""

    demonstrations: Sequence[Demonstrations]
    method: Method[Any]
    """As it was asked for; `auto` chooses another one for each data set."""
    settings: Settings
    """As they were given; what follows from the number of pairs is open."""
    members: int
    seeds: Sequence[int]
    device: torch.device
    clean: bool
    cleanings: Sequence[Cleaning] | None = None
    """One for each demonstrations, after they were cleaned."""

    @classmethod
    def make(
        cls,
        demonstrations: Sequence[Demonstrations],
        method: str,
        members: int,
        seeds: Sequence[int] | None,
        device: str | torch.device,
        settings: dict[str, Any],
        clean: bool | None = None,
    ) -> FitPlan:
        """Check what was asked for before anything is computed."""
        if not demonstrations:
            raise RobustBCError("demonstrations is empty; give at least one set of pairs.")
        sizes = {(d.observation_size, d.action_size) for d in demonstrations}
        if len(sizes) > 1:
            raise RobustBCError(
                f"demonstrations of one fleet must have the same sizes, but they have {sorted(sizes)}"
                " (observation size, action size)."
            )
        if isinstance(members, bool) or not isinstance(members, int | np.integer) or members < 1:
            raise RobustBCError(f"members must be a whole number of at least 1, but it is {members!r}.")
        if not isinstance(clean, bool | np.bool_ | None):
            raise RobustBCError(f"clean must be true or false, but it is {clean!r}.")
        chosen = [check_seed(seed) for seed in (range(len(demonstrations)) if seeds is None else seeds)]
        if len(chosen) != len(demonstrations):
            raise RobustBCError(f"seeds has {len(chosen)} entries, but there are {len(demonstrations)} data sets.")
        known = get_method(method)
        plan = cls(
            demonstrations=demonstrations,
            method=known,
            settings=known.settings(settings),
            members=int(members),
            seeds=chosen,
            device=resolve_device(device),
            clean=known.cleans if clean is None else bool(clean),
        )
        for learner, pairs in zip(plan.learners, demonstrations, strict=True):
            learner.method.check(learner.settings, len(pairs))
        _ = plan.normalisations  # numbers that cannot be scaled are told now
        return plan

    @cached_property
    def learners(self) -> list[Learner]:
        """What each policy is learned by; before an audit this is but what it would be if nothing were dropped."""
        return [self._learner(policy) for policy in range(len(self.demonstrations))]

    def _learner(self, policy: int) -> Learner:
        pairs = self.demonstrations[policy]
        if self.method.name != AUTO:
            return Learner(self.method, with_budget(self.settings, len(pairs)), None)
        choice = choose(pairs)
        method = get_method(choice.method)
        settings: Settings = method.settings({"action_scaling": self.settings.action_scaling})
        cleaning = None if self.cleanings is None else self.cleanings[policy]
        return Learner(method, with_budget(settings, len(pairs)), replace(choice, audited=said_of(cleaning)))

    @cached_property
    def normalisations(self) -> list[Normalisation]:
        return [
            Normalisation.of(pairs, learner.settings.action_scaling)
            for pairs, learner in zip(self.demonstrations, self.learners, strict=True)
        ]

    @property
    def groups(self) -> list[list[int]]:
        """Policies with the same method and settings: these can be trained together."""
        found: dict[tuple[str, Settings], list[int]] = {}
        for policy, learner in enumerate(self.learners):
            found.setdefault((learner.method.name, learner.settings), []).append(policy)
        return list(found.values())

    def networks_per_policy(self, policy: int) -> int:
        settings = self.learners[policy].network_settings
        return self.members * settings.restarts * settings.peers

    @property
    def audit_steps(self) -> int:
        """Steps that cleaning counts as."""
        return AUDIT_STEPS * len(self.seeds) if self.clean else 0

    def steps(self, which: Sequence[int]) -> int:
        """Steps that these policies count as, which are of one group."""
        learner = self.learners[which[0]]
        if isinstance(learner.method, DirectMethod):
            return len(which) * (AUDIT_STEPS if self.clean else 1)
        return learner.network_settings.budget.steps

    def cleaned(self, total: int, progress: ProgressCallback) -> FitPlan:
        """The same plan with the pairs that an audit keeps, if cleaning was asked for."""
        if not self.clean:
            return self
        found: dict[tuple[int, int], tuple[Demonstrations, Cleaning]] = {}  # a fleet may have the same pairs twice
        places = [(id(pairs), seed) for pairs, seed in zip(self.demonstrations, self.seeds, strict=True)]
        for number, (place, pairs) in enumerate(zip(places, self.demonstrations, strict=True)):

            def report(share: float, note: str, number: int = number) -> None:
                progress(Progress(round((number + share) * AUDIT_STEPS), total, None, note))

            if place not in found:
                said = audit(pairs, self.seeds[number], report)
                found[place] = pairs.select(said.keep()), cleaning_of(said)
            report(1.0, "")
        return replace(
            self,
            demonstrations=[found[place][0] for place in places],
            cleanings=[found[place][1] for place in places],
        )

    def computed(self, policy: int) -> Policy:
        """The policy of a method that is computed in one go."""
        learner, pairs, maps = self.learners[policy], self.demonstrations[policy], self.normalisations[policy]
        assert isinstance(learner.method, DirectMethod)
        with threads_for(len(pairs) ** 3):
            model = learner.method.fit(
                learner.settings,
                maps.observations.forward(pairs.observations),
                maps.actions.forward(pairs.actions),
                [MemberSeed(self.seeds[policy], member) for member in range(self.members)],
                pairs.episodes,
            )
        return self._policy(policy, model, None)

    def trainer(self, which: Sequence[int]) -> Trainer:
        """A trainer for these policies of one group: members side by side, restarts of each, and peers of those."""
        method, settings = self.learners[which[0]].method, self.learners[which[0]].network_settings
        assert isinstance(method, NetworkMethod)
        networks = [
            (place, MemberSeed(self.seeds[policy], member, restart, peer))
            for place, policy in enumerate(which)
            for member in range(self.members)
            for restart in range(settings.restarts)
            for peer in range(settings.peers)
        ]
        held_out = settings.held_out if settings.needs_held_out else None
        data = make_fleet_data(
            [self.demonstrations[policy] for policy in which],
            [self.normalisations[policy] for policy in which],
            networks,
            held_out,
            lambda rows, seed: method.share_out(settings, rows, seed),
            self.device,
        )
        return Trainer(method, settings, data, [seed for _, seed in networks], self.device)

    def policies(self, which: Sequence[int], trainer: Trainer) -> list[Policy]:
        """The policies of a finished trainer, with the best restart of each member."""
        trainer.finish()
        settings = trainer.settings
        usable = trainer.finite_members()
        scores = trainer.score.cpu().numpy()
        if settings.needs_held_out:
            usable &= np.isfinite(scores)  # weights from before a divergence are finite, but were never good
        # The peers of a restart stand or fall together.
        ranked = np.where(usable, scores, np.inf).reshape(-1, settings.restarts, settings.peers).mean(2)
        best = np.arange(len(ranked)) * settings.restarts + ranked.argmin(1)  # (policies x members,)
        winners = (best[:, None] * settings.peers + np.arange(settings.peers)).reshape(len(which), -1)
        return [
            self._trained_policy(policy, trainer, [int(network) for network in winners[place]], usable)
            for place, policy in enumerate(which)
        ]

    def _trained_policy(
        self, policy: int, trainer: Trainer, networks: list[int], usable: np.ndarray[Any, np.dtype[np.bool_]]
    ) -> Policy:
        if not usable[networks].all():
            raise RobustBCError(
                f"training of '{trainer.method.name}' with seed {self.seeds[policy]} diverged; lower learning_rate"
                f" (it is {trainer.settings.learning_rate})."
            )
        pairs = self.demonstrations[policy]
        fleet = trainer.method.fleet(trainer.settings, len(networks), pairs.observation_size, pairs.action_size)
        fleet.load_state_dict({name: t[networks].cpu() for name, t in trainer.fleet.state_dict().items()})
        return self._policy(policy, fleet, trainer.history.select(networks))

    def _policy(self, policy: int, model: Model, history: History | None) -> Policy:
        learner = self.learners[policy]
        return Policy(
            learner.method,
            learner.settings,
            model,
            self.normalisations[policy],
            self.demonstrations[policy].action_space,
            self.device,
            history,
            len(self.demonstrations[policy]),
            None if self.cleanings is None else self.cleanings[policy],
            learner.choice,
        )
