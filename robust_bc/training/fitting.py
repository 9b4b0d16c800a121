"""`fit`: demonstrations in, a policy out; `fit_fleet`: many data sets at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from robust_bc.auditing.audits import audit
from robust_bc.auditing.cleaning import cleaning_of
from robust_bc.data.demonstrations import Demonstrations
from robust_bc.data.normalisation import Normalisation
from robust_bc.errors import RobustBCError
from robust_bc.methods import get_method
from robust_bc.methods.base import Method
from robust_bc.methods.direct import DirectMethod
from robust_bc.methods.network import NetworkMethod, NetworkSettings
from robust_bc.methods.settings import Settings
from robust_bc.networks.history import History
from robust_bc.networks.model import Model
from robust_bc.policies.cleaning import Cleaning
from robust_bc.policies.policy import Policy
from robust_bc.system.devices import resolve_device
from robust_bc.system.seeding import MemberSeed, check_seed
from robust_bc.training.data import make_fleet_data
from robust_bc.training.trainer import Trainer

LARGEST_FLEET = 64
"""Networks of different policies that are trained together; it bounds the memory of a benchmark's column."""
AUDIT_STEPS = 500
"""Steps that an audit counts as; only for progress bars."""


@dataclass(frozen=True)
class Progress:
    """How far a fit is: steps done and in all, and the mean loss of the latest block.

    Of methods that are computed in one go, a policy is a step, or as many as its audit, and there is no loss.
    """

    done: int
    total: int
    loss: float | None
    note: str = ""
    """What an audit is doing."""


ProgressCallback = Callable[[Progress], None]


def fit(
    demonstrations: Demonstrations,
    method: str = "choicenet",
    members: int = 1,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    clean: bool = False,
    **settings: Any,
) -> Policy:
    """Fit a policy to demonstrations of mixed quality.

    With `clean`, it learns from what an audit keeps (`audit.keep()`), and `policy.cleaning` tells what was left out
    and why. `members` above 1 gives an ensemble whose actions are averaged. `settings` are those of the method
    (`robust-bc methods` lists the methods, `robust-bc train --method M --help` the settings of one). The same seed
    gives the same policy, to the bit on the same machine.
    """
    return fit_fleet([demonstrations], method, members, [seed], device, progress, clean, **settings)[0]


def fit_fleet(
    demonstrations: Sequence[Demonstrations],
    method: str = "choicenet",
    members: int = 1,
    seeds: Sequence[int] | None = None,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    clean: bool = False,
    **settings: Any,
) -> list[Policy]:
    """Fit one policy to each of many demonstrations of the same shape, all at once.

    Every policy depends on its own demonstrations and seed only (0, 1, 2, ... unless given), not on the others.
    With `clean`, each data set has an audit of its own, with the seed of its policy.
    """
    plan = FitPlan.make(demonstrations, method, members, seeds, device, settings, clean)
    tell = progress or (lambda state: None)
    return list(plan.computed(tell) if isinstance(plan.method, DirectMethod) else _trained(plan, tell))


def _trained(plan: FitPlan, progress: ProgressCallback) -> Iterator[Policy]:
    """Networks in fleets as large as memory allows, one fleet after another."""
    steps = plan.network_settings.steps
    asked = plan.audit_steps
    group = max(1, LARGEST_FLEET // plan.networks_per_policy)
    groups = [range(start, min(start + group, len(plan.seeds))) for start in range(0, len(plan.seeds), group)]
    total = asked + len(groups) * steps
    plan = plan.cleaned(total, progress)
    for number, which in enumerate(groups):
        trainer = plan.trainer(which)
        before = asked + number * steps

        def report(trainer: Trainer, before: int = before) -> None:
            progress(Progress(before + trainer.step, total, float(np.mean(trainer.history.values[-1][0]))))

        trainer.run(report)
        yield from plan.policies(which, trainer)


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Everything a fit was asked for, checked."""

    demonstrations: Sequence[Demonstrations]
    normalisations: Sequence[Normalisation]
    method: Method[Any]
    settings: Settings
    members: int
    seeds: Sequence[int]
    device: torch.device
    clean: bool = False
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
        clean: bool = False,
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
        if not isinstance(clean, bool | np.bool_):
            raise RobustBCError(f"clean must be true or false, but it is {clean!r}.")
        chosen = [check_seed(seed) for seed in (range(len(demonstrations)) if seeds is None else seeds)]
        if len(chosen) != len(demonstrations):
            raise RobustBCError(f"seeds has {len(chosen)} entries, but there are {len(demonstrations)} data sets.")
        known = get_method(method)
        resolved: Settings = known.settings(settings)
        known.check(resolved, max(len(pairs) for pairs in demonstrations))
        return cls(
            demonstrations=demonstrations,
            normalisations=[Normalisation.of(d, resolved.action_scaling) for d in demonstrations],
            method=known,
            settings=resolved,
            members=int(members),
            seeds=chosen,
            device=resolve_device(device),
            clean=bool(clean),
        )

    @property
    def network_settings(self) -> NetworkSettings:
        """The settings, of a method that trains networks."""
        if not isinstance(self.settings, NetworkSettings):
            raise TypeError(f"'{self.method.name}' trains no networks")
        return self.settings

    @property
    def networks_per_policy(self) -> int:
        return self.members * self.network_settings.restarts * self.network_settings.peers

    @property
    def audit_steps(self) -> int:
        """Steps that cleaning counts as."""
        return AUDIT_STEPS * len(self.seeds) if self.clean else 0

    def computed(self, progress: ProgressCallback) -> Iterator[Policy]:
        """The policies of a method that is computed in one go, one after another."""
        asked, each = self.audit_steps, AUDIT_STEPS if self.clean else 1
        total = asked + each * len(self.seeds)
        plan = self.cleaned(total, progress)
        yield from plan._computed(lambda done: progress(Progress(asked + each * done, total, None)))

    def _computed(self, progress: Callable[[int], None]) -> Iterator[Policy]:
        assert isinstance(self.method, DirectMethod)
        for policy, (pairs, maps) in enumerate(zip(self.demonstrations, self.normalisations, strict=True)):
            model = self.method.fit(
                self.settings,
                maps.observations.forward(pairs.observations),
                maps.actions.forward(pairs.actions),
                [MemberSeed(self.seeds[policy], member) for member in range(self.members)],
            )
            progress(policy + 1)
            yield self._policy(policy, model, None)

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
        kept = [found[place][0] for place in places]
        return replace(
            self,
            demonstrations=kept,
            normalisations=[Normalisation.of(pairs, self.settings.action_scaling) for pairs in kept],
            cleanings=[found[place][1] for place in places],
        )

    def trainer(self, which: Sequence[int]) -> Trainer:
        """A trainer for these policies: their members side by side, the restarts of each, and the peers of those."""
        method, settings = self.method, self.network_settings
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
        settings = self.network_settings
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
                f"training of '{self.method.name}' with seed {self.seeds[policy]} diverged; lower learning_rate"
                f" (it is {self.network_settings.learning_rate})."
            )
        pairs = self.demonstrations[policy]
        fleet = trainer.method.fleet(trainer.settings, len(networks), pairs.observation_size, pairs.action_size)
        fleet.load_state_dict({name: t[networks].cpu() for name, t in trainer.fleet.state_dict().items()})
        return self._policy(policy, fleet, trainer.history.select(networks))

    def _policy(self, policy: int, model: Model, history: History | None) -> Policy:
        return Policy(
            self.method,
            self.settings,
            model,
            self.normalisations[policy],
            self.demonstrations[policy].action_space,
            self.device,
            history,
            len(self.demonstrations[policy]),
            None if self.cleanings is None else self.cleanings[policy],
        )
