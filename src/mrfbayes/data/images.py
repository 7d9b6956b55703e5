"""Images as observations of a grid: arrays (n, rows, columns), NPY and PNG files, one observation per image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.model.field import Model
from mrfbayes.model.lattice import pixels_of

IMAGES = {".png", ".npy"}
MOST_PIXELS = 1 << 28


def is_image(name: str) -> bool:
    """Whether a file is called like one that this module reads."""
    return Path(name).suffix.lower() in IMAGES


def flatten(model: Model, images: np.ndarray, where: str) -> np.ndarray:
    """Images (n, rows, columns) as (n, d): the pixels that are nodes of the model."""
    place = pixels_of(model.nodes)
    if place is None:
        raise InputError(f"{where} holds images, but the nodes are no pixels: make the model by mrfbayes.grid.")
    rows, columns = model.grid_shape or (int(place[:, 0].max()) + 1, int(place[:, 1].max()) + 1)
    shape = images.shape[1:]
    is_whole = model.grid_shape is not None
    if (is_whole and shape != (rows, columns)) or shape[0] < rows or shape[1] < columns:
        raise InputError(
            f"{where} holds images of {shape[0]} x {shape[1]} pixels, the grid has {rows} x {columns}: crop the "
            "images, or make the grid as large."
        )
    return np.asarray(images[:, place[:, 0], place[:, 1]])


def read_images(model: Model, paths: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Files as observations (n, d), and what has to be said about their greys."""
    parts, greys = [], []
    for path in paths:
        images = read_image(path)
        if images.ndim == 2 and Path(path).suffix.lower() == ".npy" and images.shape[1] == model.n_nodes:
            parts.append(images)  # a table: one observation per row
            continue
        if images.ndim == 2:
            images = images[None]
        if images.ndim != 3:
            raise InputError(
                f"{path}: an array of shape {images.shape}; expected an image, or images (n, rows, columns)."
            )
        parts.append(flatten(model, images, path))
        greys.append(np.unique(parts[-1]))
    size = sum(part.nbytes for part in parts)
    require_memory(3 * size, f"{len(paths):,} images", "use fewer of them, or smaller ones")
    x = np.concatenate(parts)
    levels = np.unique(np.concatenate(greys)) if greys else np.zeros(0)
    most = int(model.states.max())
    if x.dtype.kind == "b" or not levels.size or ((levels < most).all() and np.array_equal(levels, levels.astype(int))):
        return x, ()
    if levels.size > most:
        raise InputError(
            f"{paths[0]}: {levels.size} levels of grey for {most} states; cut the images into states first, as in "
            "image > 0.5."
        )
    shown = ", ".join(f"{level:g} = {state}" for state, level in enumerate(levels))
    return np.searchsorted(levels, x), (f"{paths[0]}: greys were read as states in their order: {shown}",)


def read_image(path: str) -> np.ndarray:
    """The greys of a PNG file, or the array of an NPY file."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; check the path.")
    try:
        if Path(path).suffix.lower() == ".npy":
            array = np.load(path, allow_pickle=False, mmap_mode="r")
        else:
            from matplotlib.image import imread

            array = imread(path)
    except (OSError, ValueError, SyntaxError, EOFError) as problem:
        text = " ".join(str(problem).split())[:100]
        raise InputError(f"{path}: cannot be read as an image ({text}).") from None
    if array.size > MOST_PIXELS:
        raise InputError(f"{path}: {array.size:,} pixels; cut the image into pieces.")
    if array.dtype.kind not in "buif":
        raise InputError(f"{path} holds {array.dtype}; expected numbers.")
    if array.ndim == 3 and Path(path).suffix.lower() == ".png":
        colours = array[..., :3]
        if not (colours == colours[..., :1]).all():
            raise InputError(f"{path}: a picture in colours; turn it into states first, one number per pixel.")
        array = colours[..., 0]
    return np.array(array)
