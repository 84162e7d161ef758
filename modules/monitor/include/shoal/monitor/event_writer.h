// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes event files that TensorBoard reads: `events.out.tfevents.<seconds>.<host>.<nanoseconds>-<unique>`. Readers take the files
/// of a folder in the order of their names, so a new file's name comes behind all that are there: its seconds are those since
/// 1970, or one more than the newest name's where the clock has gone back.
///
/// Framing (TFRecord): u64 length, u32 masked CRC-32C of it, payload, u32 masked CRC-32C of the payload; little-endian.
/// Payload: protobuf `Event`. Scalars are `simple_value`. Texts are `tensor` (DT_STRING, shape []) with the metadata of
/// TensorBoard's text plug-in, which is how Estimator writes `checkpoint_path`. Images are `image`, other tensors `tensor` (DT_FLOAT)
/// with the metadata of their plug-in. docs/formats.md has the fields.
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

/// An image as a file of its own has it. The bytes are stored as they are.
struct EncodedImage {
  std::string_view bytes;  ///< A PNG or JPEG file.
  int64_t width = 0;       ///< Pixels, as is the height: from 1 to 2^31 - 1.
  int64_t height = 0;
  int channels = 0;        ///< 1: grey, 2: grey and opacity, 3: red, green and blue, 4: these and opacity.
};

/// Numbers in a shape, the last axis running fastest.
struct TensorSummary {
  std::span<const int64_t> shape;
  std::span<const float> values;  ///< As many as the product of the shape.
  std::string_view plugin;        ///< The plug-in of TensorBoard that shows the tensor, "pr_curves" for one.
  std::string_view content = {};  ///< Bytes for this plug-in, in a form of its own.
};

struct EventWriterOptions {
  /// The most that a reader may lag behind, if events keep coming.
  Duration flush_interval = std::chrono::seconds(10);
  size_t buffer_bytes_max = size_t(1) << 18;  ///< It is written out when it holds more.
  std::string host = {};                      ///< The host in the file name. Default: that of env.process().
  bool makes_folder = true;                   ///< False: the folder is there, and where it is not, that is an error.
  /// True: what cannot be written is dropped with a warning, and is no error; a minute later events go to another file.
  bool survives_failure = false;
};

/// One file per writer, so a restarted run never appends to a file that may end in a cut record. Not thread-safe; all
/// calls may block on the disk. Errors name path and cause; after one, later calls return it again (a record may have
/// been cut, and what came after it could not be read).
class EventWriter {
 public:
  /// Creates the folder (unless told otherwise) and the file, and writes the version record at once. Time comes from `env`.
  static Result<std::unique_ptr<EventWriter>> open(Environment& env, const std::string& folder,
                                                   EventWriterOptions options = {});
  ~EventWriter();  ///< Flushes; errors are lost, so call close().
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  /// Says that training begins, or begins anew, with this step: TensorBoard drops what earlier files have of it and of later
  /// ones (SessionLog.START), which is history that has not happened.
  Result<void> add_start(int64_t first_step);
  Result<void> add_scalar(int64_t global_step, std::string_view tag, double value);
  /// Adds all in one record: an evaluation's results.
  Result<void> add_scalars(int64_t global_step, std::span<const Scalar> scalars);
  Result<void> add_histogram(int64_t global_step, std::string_view tag, const Histogram& histogram);
  /// A text, which TensorBoard shows as Markdown.
  Result<void> add_text(int64_t global_step, std::string_view tag, std::string_view text);
  /// InvalidArgument for sizes and channels that EncodedImage excludes; nothing is written then.
  Result<void> add_image(int64_t global_step, std::string_view tag, const EncodedImage& image);
  /// InvalidArgument where the values are not as many as the shape has elements; nothing is written then.
  Result<void> add_tensor(int64_t global_step, std::string_view tag, const TensorSummary& tensor);
  /// Precision over recall at thresholds that divide [0, 1] evenly: `values` is a matrix [6, thresholds] with the rows true
  /// positives, false positives, true negatives, false negatives, precision, recall. InvalidArgument for other numbers of values.
  Result<void> add_pr_curve(int64_t global_step, std::string_view tag, std::span<const float> values);
  /// A model's graph, of which TensorBoard shows the newest. False, and nothing is written, where it has more than 1 MiB.
  Result<bool> add_graph(std::span<const GraphNode> nodes);

  // Hyper-parameters, at step 0. TensorBoard heeds the first of each of the three that a folder has.

  /// Says that a training begins.
  Result<void> add_session_start(const SessionStart& start);
  /// Says how it ended. What goes on later has not ended.
  Result<void> add_session_end(SessionStatus status);
  /// Says what a search looks for. Trials are in folders below the one of this writer. InvalidArgument for a domain that has not
  /// exactly one of interval and choices, an interval that ends before it begins, and choices of several types.
  Result<void> add_hparams_experiment(const Experiment& experiment);

  /// Hands them to the operating system: readers see them.
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
  SteadyTime retry_at_{};  // Without a file: when the next one is tried.
};

}  // namespace shoal::monitor
