// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes event files that TensorBoard reads: `events.out.tfevents.<seconds>.<host>.<nanoseconds>-<unique>`. Readers take
/// the files of a folder in the order of their names, so the name of a new file has to sort last: its seconds are the time
/// since 1970, or one more than the seconds in the newest name if the clock has gone back.
///
/// Framing (TFRecord): u64 length, u32 masked CRC-32C of the length, payload, u32 masked CRC-32C of the payload; all
/// numbers little-endian. Payload: protobuf `Event`. Scalars are `simple_value`; texts are `tensor` (DT_STRING, shape [])
/// with the metadata of TensorBoard's text plug-in (such as `checkpoint_path`); images are `image`; other tensors are
/// `tensor` (DT_FLOAT) with the metadata of their plug-in. docs/formats.md has the fields.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/environment.h"
#include "shoal/monitor/event.h"
#include "shoal/monitor/graph_summary.h"
#include "shoal/monitor/hyper_parameters.h"

namespace shoal::monitor {

struct Scalar {
  std::string_view tag;
  double value = 0;  ///< Stored as float32; NaN and infinity are stored as they are.
};

/// An image as a PNG or JPEG file. The bytes are stored unchanged.
struct EncodedImage {
  std::string_view bytes;  ///< A PNG or JPEG file.
  int64_t width = 0;       ///< In pixels, from 1 to 2^31 - 1, as is the height.
  int64_t height = 0;
  int channels = 0;  ///< 1: grey, 2: grey and opacity, 3: red, green and blue, 4: these and opacity.
};

/// A tensor of numbers in row-major order.
struct TensorSummary {
  std::span<const int64_t> shape;
  std::span<const float> values;  ///< Their number is the product of `shape`.
  std::string_view plugin;        ///< TensorBoard's plug-in for the tensor, such as "pr_curves".
  std::string_view content = {};  ///< Metadata for `plugin`, in a format that `plugin` defines.
};

struct EventWriterOptions {
  /// If an event is added this long after the last flush, or later, the writer flushes: all buffered events go to the file.
  Duration flush_interval = std::chrono::seconds(10);
  size_t buffer_bytes_max = size_t(1) << 18;  ///< More bytes of events than this are not buffered, but written.
  std::string host = {};                      ///< The host in the file name. Default: that of env.process().
  bool makes_folder = true;                   ///< If false, a missing folder is an error.
  /// If true, a failed write is no error: a warning is logged, the events of the next minute are dropped, and later events
  /// go to a new file.
  bool survives_failure = false;
};

/// Writes one event file. Every writer has a new file, so a restarted run never appends to a file that may end in a cut
/// record. Not thread-safe; all calls may block on the disk. Errors name path and cause. After an error all later calls
/// return the same error, because a cut record would hide the records behind it from readers.
class EventWriter {
 public:
  /// Creates the folder (unless makes_folder is false) and the file, and writes the version record at once. Times come from
  /// `env`.
  static Result<std::unique_ptr<EventWriter>> open(Environment& env, const std::string& folder,
                                                   EventWriterOptions options = {});
  ~EventWriter();  ///< Flushes, and drops any error: call close() to get the error.
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Records a start of training at the step `first_step`. TensorBoard then drops values of this step and of later ones
  /// from earlier files, since these steps were lost (SessionLog.START).
  Result<void> add_start(int64_t first_step);
  Result<void> add_scalar(int64_t global_step, std::string_view tag, double value);
  /// Adds all scalars in one record, such as the results of an evaluation.
  Result<void> add_scalars(int64_t global_step, std::span<const Scalar> scalars);
  Result<void> add_histogram(int64_t global_step, std::string_view tag, const Histogram& histogram);
  /// Adds a text, which TensorBoard shows as Markdown.
  Result<void> add_text(int64_t global_step, std::string_view tag, std::string_view text);
  /// Adds an image. InvalidArgument, and nothing is written, for sizes or channels that EncodedImage does not allow.
  Result<void> add_image(int64_t global_step, std::string_view tag, const EncodedImage& image);
  /// Adds a tensor. InvalidArgument, and nothing is written, unless there are as many values as the shape has elements.
  Result<void> add_tensor(int64_t global_step, std::string_view tag, const TensorSummary& tensor);
  /// Adds a curve of precision over recall at thresholds that divide [0, 1] evenly. `values` is a matrix [6, thresholds]
  /// with the rows true positives, false positives, true negatives, false negatives, precision, recall. InvalidArgument for
  /// other numbers of values.
  Result<void> add_pr_curve(int64_t global_step, std::string_view tag, std::span<const float> values);
  /// Adds a model's graph; TensorBoard shows the newest graph. Returns false, and writes nothing, if the graph has more
  /// than 1 MiB.
  Result<bool> add_graph(std::span<const GraphNode> nodes);

  // The three functions below record hyper-parameters, always at step 0. In each folder TensorBoard reads only the first
  // session start, the first session end and the first experiment.

  /// Records the start of a training.
  Result<void> add_session_start(const SessionStart& start);
  /// Records the end of a training. A training that will be continued has no end yet.
  Result<void> add_session_end(SessionStatus status);
  /// Records a search over hyper-parameters whose trials have folders below this writer's folder. InvalidArgument if a
  /// hyper-parameter has both `interval` and `choices` or neither, an interval that ends before it begins, or choices of
  /// several types.
  Result<void> add_hparams_experiment(const HyperParameterExperiment& experiment);

  /// Hands all events to the operating system, so that readers see them.
  Result<void> flush();
  Result<void> close();
  const std::string& path() const { return path_; }

 private:
  EventWriter(Environment& env, std::string folder, EventWriterOptions options);
  Result<void> begin_file();
  Result<void> add_record(std::string_view event);
  Result<void> write_out();
  Result<void> settle(Result<void> result);

  Environment& env_;
  const std::string folder_;
  std::string path_;
  std::unique_ptr<WritableFile> file_;
  EventWriterOptions options_;
  std::string buffer_;
  SteadyTime last_flush_;
  std::optional<Error> failed_;
  bool closed_ = false;
  SteadyTime retry_at_{};  // After a failed write: when to begin a new file.
};

}  // namespace shoal::monitor
