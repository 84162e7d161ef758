# SPDX-License-Identifier: Apache-2.0
"""Losses, predictions and metrics of every head, by Shoal and in float64 by numpy and PyTorch, areas under curves by
scikit-learn too.

    compare_heads.py -- <heads_trace, after the emulator that runs it, if one does>

Exit status: 0 equal, 1 not, 77 skipped. Losses, predictions and metrics are equal within 1e-6 (relative above 1); areas
under precision and recall are within 0.01 of scikit-learn's, which draws that curve in steps.
"""
import json
import subprocess
import sys

SKIPPED = 77

try:
    import numpy
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)")
    sys.exit(SKIPPED)
try:
    from sklearn import metrics as sklearn_metrics
except ImportError:
    sklearn_metrics = None

wrong = 0
compared = 0


def compare(what, shoal, other, tolerance=1e-6):
    global wrong, compared
    compared += 1
    shoal, other = numpy.asarray(shoal, numpy.float64), numpy.asarray(other, numpy.float64)
    apart = numpy.max(numpy.abs(shoal - other) / numpy.maximum(1, numpy.abs(other))) if shoal.shape == other.shape else None
    if apart is None or not apart <= tolerance:
        wrong += 1
        print(f"{what}: Shoal {shoal.tolist()}, expected {other.tolist()}")


def sigmoid(x):
    return torch.sigmoid(torch.tensor(x)).numpy()


def mean(values, weights):
    """Weights are of rows."""
    weights = numpy.broadcast_to(weights.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    return (values * weights).sum() / weights.sum()


def areas(labels, logits, weights):
    """Under the receiver operating characteristic and under precision and recall, by the different logits."""
    labels, scores = labels.reshape(-1), logits.reshape(-1).astype(numpy.float32)
    weights = numpy.repeat(weights, labels.size // weights.size)
    tp = fp = roc = pr = 0.0
    for score in sorted(set(scores.tolist()), reverse=True):
        more_tp = weights[(scores == score) & (labels == 1)].sum()
        more_fp = weights[(scores == score) & (labels == 0)].sum()
        roc += more_fp * (tp + more_tp / 2)
        if more_tp > 0:  # The integral of (tp + x) / (tp + x + fp + x more_fp / more_tp) by a fine sum.
            x = (numpy.arange(20000) + 0.5) / 20000 * more_tp
            pr += ((tp + x) / (tp + x + fp + x * more_fp / more_tp)).mean() * more_tp
        tp, fp = tp + more_tp, fp + more_fp
    return roc / (tp * fp), pr / tp


def compare_areas(name, metrics, labels, logits, weights, suffix=""):
    roc, pr = areas(labels, logits, weights)
    compare(f"{name} auc{suffix}", metrics["auc" + suffix], roc)
    compare(f"{name} auc_precision_recall{suffix}", metrics["auc_precision_recall" + suffix], pr)
    if sklearn_metrics:
        flat = labels.reshape(-1), logits.reshape(-1)
        each = numpy.repeat(weights, labels.size // weights.size)
        compare(f"{name} auc{suffix} of scikit-learn", metrics["auc" + suffix],
                sklearn_metrics.roc_auc_score(*flat, sample_weight=each))
        compare(f"{name} auc_precision_recall{suffix} of scikit-learn", metrics["auc_precision_recall" + suffix],
                sklearn_metrics.average_precision_score(*flat, sample_weight=each), 0.01)


def compare_threshold(name, metrics, labels, probabilities, weights, threshold, suffix):
    taken, each = probabilities > threshold, numpy.repeat(weights, labels.size // weights.size).reshape(labels.shape)
    right = each[(labels == 1) & taken].sum()
    compare(f"{name} accuracy{suffix}", metrics["accuracy" + suffix], each[taken == (labels == 1)].sum() / each.sum())
    compare(f"{name} precision{suffix}", metrics["precision" + suffix], right / each[taken].sum())
    compare(f"{name} recall{suffix}", metrics["recall" + suffix], right / each[labels == 1].sum())


def losses_of(name, logits, labels):
    """Per example, or per number."""
    x, y = torch.tensor(logits), torch.tensor(labels)
    if name == "multi_class":
        return functional.cross_entropy(x, y.reshape(-1).long(), reduction="none").numpy()
    if name == "soft_classes":
        return functional.cross_entropy(x, y, reduction="none").numpy()
    if name == "regression":
        return functional.mse_loss(x, y, reduction="none").numpy()
    if name == "poisson":
        return functional.poisson_nll_loss(x, y, log_input=True, full=True, reduction="none").numpy()
    entropy = functional.binary_cross_entropy_with_logits(x, y, reduction="none").numpy()
    return entropy.mean(axis=1) if name == "multi_label" else entropy


def predictions_of(name, logits):
    if name in ("multi_class", "soft_classes"):
        best = logits.argmax(axis=1).reshape(-1, 1)
        return {"logits": logits, "probabilities": torch.softmax(torch.tensor(logits), 1).numpy(), "class_ids": best,
                "all_class_ids": numpy.tile(numpy.arange(logits.shape[1]), (len(logits), 1))}
    if name == "binary":
        p = sigmoid(logits)
        return {"logits": logits, "logistic": p, "probabilities": numpy.concatenate([1 - p, p], axis=1),
                "class_ids": (p > 0.5).astype(int), "all_class_ids": numpy.tile([0, 1], (len(logits), 1))}
    if name == "regression":
        return {"predictions": logits}
    if name == "poisson":
        return {"predictions": numpy.exp(logits), "logits": logits}
    if name == "logistic":
        return {"predictions": sigmoid(logits), "logits": logits}
    return {"logits": logits, "probabilities": sigmoid(logits)}


def compare_metrics(name, metrics, logits, labels, weights):
    compare(f"{name} average_loss", metrics["average_loss"], mean(losses_of(name, logits, labels), weights))
    expected = {"average_loss"}
    if name in ("multi_class", "soft_classes"):
        expected |= {"accuracy"}
        ids = labels[:, 0] if name == "multi_class" else labels.argmax(axis=1)
        compare(f"{name} accuracy", metrics["accuracy"], mean((logits.argmax(axis=1) == ids) * 1.0, weights))
    elif name == "binary":
        p = sigmoid(logits)
        compare_threshold(name, metrics, labels, p, weights, 0.5, "")
        for t in ("0.25", "0.75"):
            compare_threshold(name, metrics, labels, p, weights, float(t), "/positive_threshold_" + t)
            expected |= {f"{m}/positive_threshold_{t}" for m in ("accuracy", "precision", "recall")}
        compare_areas(name, metrics, labels, logits, weights)
        label_mean = mean(labels, weights)
        compare(f"{name} accuracy_baseline", metrics["accuracy_baseline"], max(label_mean, 1 - label_mean))
        compare(f"{name} label/mean", metrics["label/mean"], label_mean)
        compare(f"{name} prediction/mean", metrics["prediction/mean"], mean(p, weights))
        expected |= {"accuracy", "precision", "recall", "auc", "auc_precision_recall", "accuracy_baseline", "label/mean",
                     "prediction/mean"}
    elif name == "multi_label":
        p = sigmoid(logits)
        compare_areas(name, metrics, labels, logits, weights)
        compare_areas(name, metrics, labels[:, 1], logits[:, 1], weights, "/class1")
        compare_threshold(name, metrics, labels, p, weights, 0.5, "/positive_threshold_0.5")
        compare(f"{name} probability_mean", metrics["probability_mean/class1"], mean(p[:, 1], weights))
        expected |= {"auc", "auc_precision_recall", "auc/class1", "auc_precision_recall/class1", "probability_mean/class1"}
        expected |= {f"{m}/positive_threshold_0.5" for m in ("accuracy", "precision", "recall")}
    else:
        expected |= {"label/mean", "prediction/mean"}
        compare(f"{name} label/mean", metrics["label/mean"], mean(labels, weights))
        compare(f"{name} prediction/mean", metrics["prediction/mean"],
                mean(predictions_of(name, logits)["predictions"], weights))
    compare(f"{name} has the metrics {sorted(expected)}, not {sorted(metrics)}", set(metrics) == expected, True)


def main():
    command = sys.argv[sys.argv.index("--") + 1:]
    traced = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    for name, case in traced.items():
        batches = [{key: numpy.array(rows, numpy.float64) for key, rows in batch.items()} for batch in case["batches"]]
        for batch, loss in zip(batches, case["losses"]):
            losses = losses_of(name, batch["logits"], batch["labels"])
            weights = batch["weights"].reshape(-1, *[1] * (losses.ndim - 1))
            compare(f"{name} loss", loss, (losses * weights).sum() / losses.size)
        for key, expected in predictions_of(name, batches[0]["logits"]).items():
            compare(f"{name} {key}", case["predictions"].pop(key), expected)
        compare(f"{name} has no predictions beside: {list(case['predictions'])}", len(case["predictions"]), 0)
        whole = {key: numpy.concatenate([batch[key] for batch in batches]) for key in batches[0]}
        compare_metrics(name, case["metrics"], whole["logits"], whole["labels"], whole["weights"].reshape(-1))
    print(f"{compared} compared, {wrong} differ" + ("" if sklearn_metrics else "; without scikit-learn (python3-sklearn)"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
