"""Aligned sequences as states with weights."""

import numpy as np
import pytest

import mrfbayes as mb


def test_alignments_are_read_with_weights(tmp_path):
    path = tmp_path / "family.fasta"
    path.write_text(">a\nACDE\nFG-K\n>b\nACDEFG-K\n>c\nacACDEFGX.K\n>d\nWWWWWWWW\n")
    alignment = mb.read_alignment(path)
    assert alignment.states.shape == (4, 8)
    assert alignment.states[0].tolist() == alignment.states[2].tolist()  # insertions left out, X is a gap
    np.testing.assert_allclose(alignment.weights, [1 / 3, 1 / 3, 1 / 3, 1])
    assert alignment.n_effective == pytest.approx(2)
    assert mb.read_alignment(path, identity=1).n_effective == pytest.approx(2)
    assert len(mb.read_alignment(path, max_gaps=0.01).names) == 1
    for text, match in ((">a\nACD\n>b\nAC\n", "2, 3 positions"), ("ACD\n", "no FASTA"), ("", "no sequences")):
        path.write_text(text)
        with pytest.raises(mb.InputError, match=match):
            mb.read_alignment(path)
    with pytest.raises(mb.InputError, match="identity = 0"):
        mb.read_alignment(path, identity=0)
    with pytest.raises(mb.InputError, match=r"nowhere\.fasta"):
        mb.read_alignment(tmp_path / "nowhere.fasta")
