# SPDX-License-Identifier: Apache-2.0
"""Layers by the equations that Keras documents, in float64 by numpy, with weights that have the names and layouts of Keras."""
import numpy


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def conv2d(x, kernel, bias):
    """Valid padding. The kernel is [height, width, inputs, filters]."""
    rows, columns = x.shape[1] - kernel.shape[0] + 1, x.shape[2] - kernel.shape[1] + 1
    out = numpy.zeros((x.shape[0], rows, columns, kernel.shape[3]))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += x[:, i:i + rows, j:j + columns] @ kernel[i, j]
    return out + bias


def depthwise_conv2d(x, kernel, bias):
    """The kernel is [height, width, channels, multiplier]; output channel k * multiplier + q is filter q of channel k."""
    rows, columns = x.shape[1] - kernel.shape[0] + 1, x.shape[2] - kernel.shape[1] + 1
    out = numpy.zeros((x.shape[0], rows, columns, *kernel.shape[2:]))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += x[:, i:i + rows, j:j + columns, :, None] * kernel[i, j]
    return out.reshape(x.shape[0], rows, columns, -1) + bias


def conv2d_transpose(x, kernel, bias):
    """Strides of 1. The kernel is [height, width, filters, inputs]."""
    out = numpy.zeros((x.shape[0], x.shape[1] + kernel.shape[0] - 1, x.shape[2] + kernel.shape[1] - 1, kernel.shape[2]))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out[:, i:i + x.shape[1], j:j + x.shape[2]] += x @ kernel[i, j].T
    return out + bias


def normalized(x, mean, variance, gamma, beta):
    return gamma * (x - mean) / numpy.sqrt(variance + 1e-3) + beta


def lstm(x, kernel, recurrent_kernel, bias):
    hidden = cell = numpy.zeros((x.shape[0], recurrent_kernel.shape[0]))
    outputs = []
    for t in range(x.shape[1]):
        i, f, c, o = numpy.split(x[:, t] @ kernel + hidden @ recurrent_kernel + bias, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * numpy.tanh(c)
        hidden = sigmoid(o) * numpy.tanh(cell)
        outputs.append(hidden)
    return numpy.stack(outputs, 1)


def gru(x, kernel, recurrent_kernel, bias):
    """With reset_after: bias is [2, 3 * units], of the inputs and of the state."""
    hidden = numpy.zeros((x.shape[0], recurrent_kernel.shape[0]))
    outputs = []
    for t in range(x.shape[1]):
        of_input = numpy.split(x[:, t] @ kernel + bias[0], 3, axis=1)
        of_state = numpy.split(hidden @ recurrent_kernel + bias[1], 3, axis=1)
        z, r = sigmoid(of_input[0] + of_state[0]), sigmoid(of_input[1] + of_state[1])
        hidden = z * hidden + (1 - z) * numpy.tanh(of_input[2] + r * of_state[2])
        outputs.append(hidden)
    return numpy.stack(outputs, 1)


def attention(x, memory, weights, name):
    def projected(value, which):
        return numpy.einsum("btf,fhd->bthd", value, weights[f"{name}/{which}/kernel"]) + weights[f"{name}/{which}/bias"]
    query, key, value = projected(x, "query"), projected(memory, "key"), projected(memory, "value")
    scores = numpy.einsum("bthd,bshd->bhts", query / numpy.sqrt(query.shape[-1]), key)
    scores = numpy.exp(scores - scores.max(-1, keepdims=True))
    mixed = numpy.einsum("bhts,bshd->bthd", scores / scores.sum(-1, keepdims=True), value)
    return (numpy.einsum("bthd,hdf->btf", mixed, weights[f"{name}/attention_output/kernel"])
            + weights[f"{name}/attention_output/bias"])


def cases(random):
    """Yields the name of the model, its weights, its inputs and its predictions."""
    def some(*shape):
        return random.normal(0, 0.5, shape).astype(numpy.float32)

    x = some(3, 7, 6, 2)
    w = {"conv2d/kernel": some(3, 2, 2, 4), "conv2d/bias": some(4),
         **{f"batch_normalization/{name}": some(4) for name in ("gamma", "beta", "moving_mean")},
         "batch_normalization/moving_variance": some(4) ** 2 + numpy.float32(0.1),
         "depthwise_conv2d/kernel": some(2, 3, 4, 2), "depthwise_conv2d/bias": some(8),
         "conv2d_transpose/kernel": some(2, 3, 3, 8), "conv2d_transpose/bias": some(3),
         "dense/kernel": some(5 * 5 * 3, 5), "dense/bias": some(5),
         "layer_normalization/gamma": some(5), "layer_normalization/beta": some(5)}
    net = conv2d(x, w["conv2d/kernel"], w["conv2d/bias"])
    net = normalized(net, *(w[f"batch_normalization/{name}"] for name in ("moving_mean", "moving_variance", "gamma", "beta")))
    net = depthwise_conv2d(net, w["depthwise_conv2d/kernel"], w["depthwise_conv2d/bias"])
    net = conv2d_transpose(net, w["conv2d_transpose/kernel"], w["conv2d_transpose/bias"])
    net = net.reshape(3, -1) @ w["dense/kernel"] + w["dense/bias"]
    net = normalized(net, net.mean(1, keepdims=True), net.var(1, keepdims=True), w["layer_normalization/gamma"],
                     w["layer_normalization/beta"])
    yield "keras_images", w, {"x": x}, net

    words = random.integers(0, 11, (4, 6))
    w = {"embedding/embeddings": some(11, 5), "conv1d/kernel": some(3, 5, 4), "conv1d/bias": some(4)}
    embedded = w["embedding/embeddings"][words]
    net = sum(embedded[:, i:i + 4] @ w["conv1d/kernel"][i] for i in range(3)) + w["conv1d/bias"]
    yield "keras_words", w, {"x": words}, net

    x = some(3, 8, 5)
    w = {"lstm/lstm_cell/kernel": some(5, 28), "lstm/lstm_cell/recurrent_kernel": some(7, 28), "lstm/lstm_cell/bias": some(28)}
    yield "keras_lstm", w, {"x": x}, lstm(x, *w.values())
    w = {"gru/gru_cell/kernel": some(5, 18), "gru/gru_cell/recurrent_kernel": some(6, 18), "gru/gru_cell/bias": some(2, 18)}
    yield "keras_gru", w, {"x": x}, gru(x, *w.values())

    x, memory, name = some(3, 5, 6), some(3, 4, 6), "multi_head_attention"
    w = {f"{name}/{which}/{part}": some(*shape) for which in ("query", "key", "value")
         for part, shape in (("kernel", (6, 2, 3)), ("bias", (2, 3)))}
    w |= {f"{name}/attention_output/kernel": some(2, 3, 6), f"{name}/attention_output/bias": some(6)}
    yield "keras_attention", w, {"x": x}, attention(x, x, w, name)
    yield "keras_cross_attention", w, {"x": x, "memory": memory}, attention(x, memory, w, name)
