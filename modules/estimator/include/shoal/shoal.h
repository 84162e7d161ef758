#pragma once
/// All that a program which trains a model needs: one include to begin with.
///
/// What belongs to special uses is included by itself: `shoal/testing/world.h` for tests in virtual time,
/// `shoal/graph/op.h` for operations of one's own, and readers of what Shoal writes (`shoal/checkpoint/`,
/// `shoal/monitor/`). Files of a larger program compile faster with the headers that they use, and Shoal itself includes
/// nothing but those.

// The program: flags, configuration, training.
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/estimator_spec.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/estimator/eval_spec.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/hooks.h"
#include "shoal/estimator/in_memory_evaluator.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/interval_timer.h"
#include "shoal/estimator/mode.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/profiler.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/run_config.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/estimator/train_spec.h"

// The data.
#include "shoal/base/random.h"
#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"
#include "shoal/data/dataset.h"
#include "shoal/data/element.h"
#include "shoal/data/idx.h"
#include "shoal/data/text_files.h"

// The model.
#include "shoal/graph/graph.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"
#include "shoal/graph/vocabulary.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/attention.h"
#include "shoal/nn/binary_metrics.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/dropout.h"
#include "shoal/nn/embedding.h"
#include "shoal/nn/export_signature.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/learning_rate.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/mode.h"
#include "shoal/nn/normalization.h"
#include "shoal/nn/optimizer.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/pooling.h"
#include "shoal/nn/recurrent.h"
#include "shoal/nn/regression_metrics.h"
#include "shoal/nn/regularizer.h"
#include "shoal/nn/residual.h"
#include "shoal/nn/schedules.h"
#include "shoal/nn/text_classes.h"
#include "shoal/nn/train_op.h"
#include "shoal/nn/transformer.h"
