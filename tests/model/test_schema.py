"""The coding of variables: equal for equal codings, and the same from a file."""

import numpy as np
import pandas as pd

import mrfbayes as mb
from mrfbayes.model.schema import Schema


def test_schemas_are_equal_for_equal_codings_and_survive_a_file():
    x = pd.DataFrame({"a": [1, 2, 3, -99], "b": ["u", "v", "w", "u"]})
    schema = mb.Data(x, na_values=[-99]).schema
    assert schema == mb.Data(x[::-1], na_values=[-99]).schema
    assert schema == Schema.from_dict(schema.to_dict())
    later = mb.Data(x[:1], schema=schema)
    assert later.schema == schema
    np.testing.assert_array_equal(later.rows(), [[0, 0]])
    np.testing.assert_array_equal(mb.Data(x, schema=schema).rows()[:, 0], [0, 1, 2, 255])
