"""A policy on disk: `config.json` and `model.safetensors`. Nothing in either is ever executed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load, save

from robust_bc.devices import resolve_device
from robust_bc.errors import RobustBCError
from robust_bc.files import as_json, write_all_whole
from robust_bc.methods import get_method
from robust_bc.normalisation import Affine, Normalisation
from robust_bc.policy import Policy

FORMAT = "robust-bc policy"
FORMAT_VERSION = 1
CONFIG_FILE = "config.json"
MODEL_FILE = "model.safetensors"
ACTION_TYPES: dict[str, Any] = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def save_policy(policy: Policy, folder: Path) -> Path:
    """Both files appear whole; the checksum in the first tells whether the second belongs to it."""
    normalisation = policy.normalisation
    tensors = {f"fleet.{name}": tensor.cpu().contiguous() for name, tensor in policy.tensors().items()}
    for name, affine in (("observations", normalisation.observations), ("actions", normalisation.actions)):
        tensors[f"{name}.centre"] = torch.from_numpy(affine.centre)
        tensors[f"{name}.scale"] = torch.from_numpy(affine.scale)
    model = save(tensors)
    space = policy.action_space
    config = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "method": policy.method.name,
        "settings": asdict(policy.settings),
        "members": policy.members,
        "observation_size": policy.observation_size,
        "action_size": policy.action_size,
        "action_low": None if space is None else _bounds(space.low),
        "action_high": None if space is None else _bounds(space.high),
        "action_type": None if space is None else str(space.dtype),
        "model_sha256": hashlib.sha256(model).hexdigest(),
    }
    write_all_whole({folder / MODEL_FILE: model, folder / CONFIG_FILE: as_json(config)})
    return folder


def load_policy(folder: str | Path, device: str | torch.device = "auto") -> Policy:
    """The policy in a folder that `Policy.save` or `robust-bc train` wrote."""
    place = _policy_folder(Path(folder))
    config = _read_config(place / CONFIG_FILE)
    tensors = _read_model(place / MODEL_FILE, config)
    chosen = resolve_device(device)
    try:
        method = get_method(config["method"])
        settings = method.settings_of_file(config["settings"])
        sizes = config["members"] * settings.peers, config["observation_size"], config["action_size"]
        learned = {name.removeprefix("fleet."): t for name, t in tensors.items() if name.startswith("fleet.")}
        model = method.empty(settings, *sizes, learned)
        model.load_state_dict(learned)
        if model.members != sizes[0]:
            raise ValueError("the model has another number of members than the configuration says")
        normalisation = Normalisation(
            observations=_affine(tensors, "observations", sizes[1]),
            actions=_affine(tensors, "actions", sizes[2]),
        )
        space = _action_space(config, sizes[2])
    except RobustBCError as problem:
        raise RobustBCError(f"'{place / CONFIG_FILE}' cannot be used: {problem}") from problem
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        raise RobustBCError(f"'{place}' is not a policy this version can read: its files do not fit.") from problem
    return Policy(method, settings, model, normalisation, space, chosen)


def _policy_folder(folder: Path) -> Path:
    """The folder itself, or the `policy` inside a run folder."""
    for place in (folder, folder / "policy"):
        if (place / CONFIG_FILE).is_file() and (place / MODEL_FILE).is_file():
            return place
    if not folder.is_dir():
        raise RobustBCError(f"there is no folder '{folder}'.")
    raise RobustBCError(
        f"'{folder}' is not the folder of a policy or of a finished run: it has no {CONFIG_FILE} and {MODEL_FILE}."
    )


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise RobustBCError(f"'{path}' is not valid JSON.") from problem
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise RobustBCError(f'\'{path}\' was not written by robust-bc: its "format" is not "{FORMAT}".')
    if config.get("format_version") != FORMAT_VERSION:
        raise RobustBCError(
            f"'{path}' has format version {config.get('format_version')}, but this robust-bc reads {FORMAT_VERSION}."
        )
    return config


def _read_model(path: Path, config: dict[str, Any]) -> dict[str, torch.Tensor]:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise RobustBCError(f"cannot read '{path}': {problem.strerror}.") from problem
    if hashlib.sha256(data).hexdigest() != config.get("model_sha256"):
        raise RobustBCError(f"'{path}' is truncated or belongs to another policy: its checksum is not the config's.")
    try:
        return load(data)
    except SafetensorError as problem:
        raise RobustBCError(f"'{path}' is not a safetensors file.") from problem


def _affine(tensors: dict[str, torch.Tensor], name: str, size: int) -> Affine:
    centre, scale = (tensors[f"{name}.{part}"].numpy().astype(np.float64) for part in ("centre", "scale"))
    if centre.shape != (size,) or scale.shape != (size,):
        raise ValueError(f"{name} has another size than the configuration says")
    return Affine(centre=centre, scale=scale)


def _bounds(values: NDArray[Any]) -> list[float | None]:
    """Infinity is no JSON number, so an unbounded side is null."""
    return [float(value) if np.isfinite(value) else None for value in values]


def _action_space(config: dict[str, Any], size: int) -> spaces.Box | None:
    if config["action_low"] is None:
        return None
    dtype = ACTION_TYPES[config["action_type"]]
    low = [-np.inf if value is None else value for value in config["action_low"]]
    high = [np.inf if value is None else value for value in config["action_high"]]
    return spaces.Box(np.asarray(low, dtype), np.asarray(high, dtype), (size,), dtype)
