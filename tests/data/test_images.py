"""Grids with eight neighbours, periodic borders and masks, and images as their observations."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.image import imsave

import mrfbayes as mb
from mrfbayes.data.sources import read_image

IMAGES = np.random.default_rng(4).integers(0, 2, size=(7, 3, 4))


def test_images_in_every_form(tmp_path):
    model = mb.grid(3, 4)
    expected = mb.Data(IMAGES.reshape(7, -1)).count(model).digest
    assert mb.Data(IMAGES).count(model).digest == expected
    np.save(tmp_path / "all.npy", IMAGES)
    assert mb.Data(tmp_path / "all.npy").count(model).digest == expected
    paths = []
    for k, image in enumerate(IMAGES):
        paths.append(tmp_path / f"{k}.png")
        imsave(paths[-1], image, cmap="gray", vmin=0, vmax=1)
    assert mb.Data(paths).count(model).digest == expected
    np.save(tmp_path / "grey.npy", np.array([17, 200])[IMAGES])
    greys = mb.Data(tmp_path / "grey.npy").count(model)
    assert greys.digest == expected
    assert greys.schema["0,0"].values == (17, 200)
    tied = mb.grid(3, 4, tied=True)
    assert not mb.Data(paths[:1]).count(tied).warnings


def test_bad_images_raise_input_error(tmp_path):
    model = mb.grid(3, 4)
    np.save(tmp_path / "levels.npy", np.arange(12).reshape(3, 4))
    np.save(tmp_path / "wide.npy", np.zeros((9, 9)))
    imsave(tmp_path / "colour.png", np.random.default_rng(1).random((3, 4, 3)))
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(30))
    np.save(tmp_path / "object.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    for name, message in {
        "levels.npy": "12 labels (0, 1, 2, 3, 4, 5, ...) for 2 states",
        "wide.npy": "9 x 9 pixels, the grid has 3 x 4",
        "colour.png": "a picture in colours",
        "broken.png": "cannot be read as an image",
        "object.npy": "cannot be read as an image",
        "nowhere.png": "no such file",
    }.items():
        with pytest.raises(mb.InputError) as caught:
            mb.Data(tmp_path / name).count(model)
        assert message in str(caught.value)
    with pytest.raises(mb.InputError, match="no column for 2 of 2 nodes"):
        mb.Data(tmp_path / "wide.npy").count(mb.graph([("a", "b")]))
    with pytest.raises(mb.InputError, match=r"a\.csv: no such file"):  # several tables are one data set, too
        mb.Data([tmp_path / "a.csv", tmp_path / "b.csv"]).count(model)


@pytest.mark.parametrize("place", range(10, 118, 3))
def test_a_damaged_head_of_an_array_file_is_refused(tmp_path, place):
    """The head is Python source, whose parser has errors of its own."""
    np.save(tmp_path / "x.npy", np.zeros((4, 5), dtype=np.uint8))
    content = bytearray((tmp_path / "x.npy").read_bytes())
    content[place] = ord("(")
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(mb.InputError, match=r"x\.npy"):
        read_image(str(tmp_path / "x.npy"))


@pytest.mark.parametrize("shape", [(0, 4, 5), (3, 0, 5), (2, 0)])
def test_an_array_file_without_pixels_is_refused(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.zeros(shape, dtype=np.uint8))
    with pytest.raises(mb.InputError, match=r"x\.npy.*no pixels"):
        _ = mb.Data(tmp_path / "x.npy").schema
