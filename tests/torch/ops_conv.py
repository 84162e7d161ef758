# SPDX-License-Identifier: Apache-2.0
"""Mirror of the transposed convolution. See ops_images.py."""
from torch.nn import functional


def conv2d_transpose(inputs, attributes):
    """Without padding, then cut to size: padding may be uneven, and cuts borders here."""
    x, kernel, *bias = inputs
    (down, right), (top, _, left, _), (height, width) = (attributes[name] for name in ("strides", "padding", "size"))
    y = functional.conv_transpose2d(x.permute(0, 3, 1, 2), kernel, *bias, stride=(down, right),
                                    dilation=tuple(attributes.get("dilations", (1, 1))), groups=attributes.get("groups", 1))
    # Rows that no pixel of x reaches hold the bias alone.
    missing_rows, missing_columns = top + height - y.shape[2], left + width - y.shape[3]
    if missing_rows > 0 or missing_columns > 0:
        rest = functional.pad(y - bias[0].reshape(-1, 1, 1) if bias else y,
                              (0, max(missing_columns, 0), 0, max(missing_rows, 0)))
        y = rest + bias[0].reshape(-1, 1, 1) if bias else rest
    return (y[:, :, top:top + height, left:left + width].permute(0, 2, 3, 1),)
