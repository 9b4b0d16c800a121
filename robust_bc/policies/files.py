"""Loading a policy from disk. Nothing in its files is ever executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from robust_bc.data.normalisation import Affine, Normalisation
from robust_bc.data.tensor_files import Expected, Tensors
from robust_bc.errors import DamagedFileError, RobustBCError
from robust_bc.methods import get_method
from robust_bc.policies.layout import FILES, MODEL, PolicyConfig
from robust_bc.policies.policy import Policy
from robust_bc.system.devices import resolve_device

LARGEST_SIZE = 1 << 24
"""Members, observations, actions: far beyond what anybody fits, and still a number to multiply."""
MOST_LAYERS = 1000


def load_policy(folder: str | Path, device: str | torch.device = "auto") -> Policy:
    """The policy in a folder that `Policy.save` or `robust-bc train` wrote."""
    place = _policy_folder(Path(folder))
    config, tensors = FILES.read(place, PolicyConfig)
    chosen = resolve_device(device)
    try:
        method = get_method(config.method)
        settings = method.settings(config.settings)
        if missing := asdict(settings).keys() - config.settings.keys():
            raise RobustBCError(f"the setting '{min(missing)}' is missing.")
        for name in ("members", "observation_size", "action_size"):
            if not 1 <= getattr(config, name) <= LARGEST_SIZE:
                raise RobustBCError(f"{name} is {getattr(config, name)}.")
        if config.choice is not None and config.choice.method != config.method:
            raise RobustBCError(f"it is of '{config.method}', but the choice was '{config.choice.method}'.")
        layers = getattr(settings, "hidden", None) or ()
        if len(layers) > MOST_LAYERS:
            raise RobustBCError(f"a network of {len(layers)} layers is not read.")
        sizes = config.members * settings.peers, config.observation_size, config.action_size
        learned = {
            name.removeprefix(MODEL): torch.from_numpy(array)
            for name, array in tensors.arrays.items()
            if name.startswith(MODEL)
        }
        with torch.device("meta"):  # shapes without memory: what a file declares is not yet believed
            needed = method.empty(settings, *sizes, learned).state_dict()
        found = _checked(needed, tensors, config)
        model = method.empty(settings, *sizes, learned)
        model.load_state_dict(learned)
        model.check_loaded()
        normalisation = _normalisation(found)
        space = _action_space(config)
        cleaning = config.cleaning
        kept = None if cleaning is None else cleaning.kept
        about: dict[str, Any] = {"learned_from": kept, "cleaning": cleaning, "choice": config.choice}
        return Policy(method, settings, model, normalisation, space, chosen, **about)
    except RobustBCError as problem:
        raise DamagedFileError(f"'{place}' cannot be used: {problem}") from problem
    except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as problem:  # shapes beyond all measure
        raise DamagedFileError(f"'{place}' is not a policy this version can read: its files do not fit.") from problem


def _checked(needed: Mapping[str, torch.Tensor], tensors: Tensors, config: PolicyConfig) -> dict[str, NDArray[Any]]:
    """All tensors of a policy, if they are the very ones that its model needs, and finite."""
    expected = {f"{MODEL}{name}": Expected(tuple(tensor.shape)) for name, tensor in needed.items()}
    for name, size in (("observations", config.observation_size), ("actions", config.action_size)):
        expected |= {f"{name}.{part}": Expected((size,), np.float64) for part in ("centre", "scale")}
    return tensors.take(expected)


def _normalisation(found: Mapping[str, NDArray[Any]]) -> Normalisation:
    maps = {
        name: Affine(centre=found[f"{name}.centre"], scale=found[f"{name}.scale"])
        for name in ("observations", "actions")
    }
    if any((affine.scale < 0).any() for affine in maps.values()):
        raise RobustBCError("a scale is below zero.")
    return Normalisation(**maps)


def _policy_folder(folder: Path) -> Path:
    """The folder itself, or the `policy` inside a run folder."""
    for place in (folder, folder / "policy"):
        if FILES.is_in(place):
            return place
    if not folder.is_dir():
        raise RobustBCError(f"there is no folder '{folder}'.")
    raise RobustBCError(
        f"'{folder}' is not the folder of a policy or of a finished run: it has no {FILES.description_file} and"
        f" {FILES.tensors_file}."
    )


def _action_space(config: PolicyConfig) -> spaces.Box | None:
    low, high, kind = config.action_low, config.action_high, config.action_type
    if low is None and high is None and kind is None:
        return None
    if low is None or high is None or kind is None or not len(low) == len(high) == config.action_size:
        raise RobustBCError(f"action_low, action_high and action_type must tell {config.action_size} bounds, or none.")
    lowest = np.array([-np.inf if value is None else value for value in low], kind)
    highest = np.array([np.inf if value is None else value for value in high], kind)
    if not (lowest <= highest).all():
        raise RobustBCError("action_low is above action_high.")
    for told, side in ((low, lowest), (high, highest)):
        if any(np.isfinite(bound) == (value is None) for value, bound in zip(told, side, strict=True)):
            raise RobustBCError(f"a bound of the actions is beyond {kind}.")
    return spaces.Box(lowest, highest, (config.action_size,), np.dtype(kind).type)
