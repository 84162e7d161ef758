#include "shoal/monitor/event_writer.h"

#include <array>
#include <cstdio>

#include "event_codec.h"
#include "record.h"

namespace shoal::monitor {
namespace {

/// Seconds to the microsecond: more does not fit into a double.
double seconds_of(WallTime time) { return double(time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6; }

/// The order of the names is the order of opening, also within one second. `host` may hold no slash.
std::string file_name(WallTime now, std::string host, uint32_t unique) {
  for (char& c : host) {
    if (c == '/' || c == '\0') c = '_';
  }
  const int64_t nanoseconds = now.time_since_epoch().count();
  std::array<char, 64> head{};
  std::array<char, 32> tail{};
  constexpr int64_t kPerSecond = 1'000'000'000;
  std::snprintf(head.data(), head.size(), "events.out.tfevents.%010lld.", static_cast<long long>(nanoseconds / kPerSecond));
  std::snprintf(tail.data(), tail.size(), ".%09lld-%08x", static_cast<long long>(nanoseconds % kPerSecond), unique);
  return head.data() + host + tail.data();
}

}  // namespace

EventWriter::EventWriter(Environment& env, std::string path, std::unique_ptr<WritableFile> file,
                         EventWriterOptions options)
    : env_(env), path_(std::move(path)), file_(std::move(file)), options_(std::move(options)), last_flush_(env.now()) {}

EventWriter::~EventWriter() {
  if (file_) (void)close();
}

Result<std::unique_ptr<EventWriter>> EventWriter::open(Environment& env, const std::string& folder,
                                                       EventWriterOptions options) {
  Storage& storage = env.storage();
  if (options.makes_folder) SHOAL_TRY_VOID(storage.make_folders(folder));
  if (options.host.empty()) options.host = env.process().host_name;
  std::string path;
  do {  // The call of create() would truncate another writer's file.
    path = join_path(folder, file_name(env.wall_now(), options.host, uint32_t(env.entropy())));
  } while (storage.exists(path));
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage.create(path));
  std::unique_ptr<EventWriter> writer(new EventWriter(env, std::move(path), std::move(file), std::move(options)));
  SHOAL_TRY_VOID(writer->add_record(encode_version_event(seconds_of(env.wall_now()))));
  SHOAL_TRY_VOID(writer->flush());
  return writer;
}

Result<void> EventWriter::add_scalar(int64_t global_step, std::string_view tag, double value) {
  const Scalar scalar{tag, value};
  return add_scalars(global_step, {&scalar, 1});
}

Result<void> EventWriter::add_scalars(int64_t global_step, std::span<const Scalar> scalars) {
  return add_record(encode_scalars(seconds_of(env_.wall_now()), global_step, scalars));
}

Result<void> EventWriter::add_histogram(int64_t global_step, std::string_view tag, const Histogram& histogram) {
  return add_record(encode_histogram(seconds_of(env_.wall_now()), global_step, tag, histogram));
}

Result<void> EventWriter::add_text(int64_t global_step, std::string_view tag, std::string_view text) {
  return add_record(encode_text(seconds_of(env_.wall_now()), global_step, tag, text));
}

Result<void> EventWriter::add_record(std::string_view event) {
  if (failed_) return *failed_;
  if (!file_) return failed_precondition("event file " + path_ + " is closed");
  append_record(buffer_, event);
  if (env_.now() >= last_flush_ + options_.flush_interval) return flush();
  if (buffer_.size() > options_.buffer_bytes_max) return write_out();
  return {};
}

Result<void> EventWriter::write_out() {
  if (failed_) return *failed_;
  if (buffer_.empty()) return {};
  Result<void> written = file_->append(std::as_bytes(std::span(buffer_)));
  buffer_.clear();
  if (!written) failed_ = std::move(written).error().with_context("event file " + path_);
  if (failed_) return *failed_;
  return {};
}

Result<void> EventWriter::flush() {
  if (!file_) return failed_ ? Result<void>(*failed_) : Result<void>();
  SHOAL_TRY_VOID(write_out());
  last_flush_ = env_.now();
  Result<void> flushed = file_->flush();
  if (!flushed) failed_ = std::move(flushed).error().with_context("event file " + path_);
  if (failed_) return *failed_;
  return {};
}

Result<void> EventWriter::close() {
  if (!file_) return failed_ ? Result<void>(*failed_) : Result<void>();
  Result<void> flushed = flush();
  Result<void> closed = file_->close();
  file_.reset();
  if (flushed && !closed) failed_ = std::move(closed).error().with_context("event file " + path_);
  if (failed_) return *failed_;
  return {};
}

}  // namespace shoal::monitor
