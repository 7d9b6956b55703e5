"""Images as observations of a grid: arrays (n, rows, columns), NPY and PNG files, one observation per image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.data.frames import ArrayTable
from mrfbayes.model.lattice import pixel_names

IMAGES = {".png", ".npy"}
MOST_PIXELS = 1 << 28


def is_image(name: str) -> bool:
    """Whether a file is called like one that this module reads."""
    return Path(name).suffix.lower() in IMAGES


def image_table(images: np.ndarray, where: str) -> ArrayTable:
    """Images (n, rows, columns) as a table whose columns are called like the pixels of a grid."""
    n, rows, columns = images.shape
    names = pixel_names(np.arange(rows * columns), columns)
    return ArrayTable(images.reshape(n, -1), where, names, (rows, columns))


def read_images(paths: Sequence[str]) -> ArrayTable:
    """Image files as one table; an NPY file of two dimensions is one image, as a PNG file is."""
    parts: list[np.ndarray] = []
    for path in paths:
        images = read_image(path)
        if images.ndim == 2:
            images = images[None]
        if images.ndim != 3:
            raise InputError(f"{path}: shape {images.shape}; expected an image, or images (n, rows, columns).")
        if not images.size:
            raise InputError(f"{path}: shape {images.shape} has no pixels; give at least one image.")
        if parts and images.shape[1:] != parts[0].shape[1:]:
            sizes = [f"{rows} x {columns}" for rows, columns in (images.shape[1:], parts[0].shape[1:])]
            raise InputError(f"{path}: {sizes[0]} pixels, {paths[0]} has {sizes[1]}: crop the images alike.")
        parts.append(images)
    size = sum(part.nbytes for part in parts)
    require_memory(3 * size, f"{len(paths):,} images", "use fewer of them, or smaller ones")
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return image_table(np.concatenate(parts), where)


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
    except Exception as problem:  # whatever a damaged head makes of a parser that is not ours
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
