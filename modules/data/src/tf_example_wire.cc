// SPDX-License-Identifier: Apache-2.0
#include "tf_example_wire.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

namespace shoal::data {
namespace {

using protozero::pbf_reader;
using Form = protozero::pbf_wire_type;
constexpr auto kLengthDelimited = Form::length_delimited;
constexpr uint32_t kValue = 1;

pbf_reader reader_of(std::string_view bytes) { return pbf_reader(bytes.data(), bytes.size()); }
std::string_view view_of(pbf_reader& message) {
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}

/// Calls `read`. If protozero throws in it, because the bytes are no protocol buffer, returns DataLoss.
template <class Read>
auto caught(const Read& read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const protozero::exception& error) {
    return data_loss(std::string("the record is no tf.Example, or is damaged (") + error.what() + ")");
  }
}

/// Reads a list of numbers or texts. Calls one(message) for each value that is stored alone, with the wire type `form`, and
/// packed(message) for each field in which several values are packed together.
template <class One, class Packed>
void for_each_value(std::string_view bytes, Form form, const One& one, const Packed& packed) {
  pbf_reader message = reader_of(bytes);
  while (message.next()) {
    if (message.tag() == kValue && message.wire_type() == form) {
      one(message);
    } else if (message.tag() == kValue && message.wire_type() == kLengthDelimited) {
      packed(message);
    } else {
      message.skip();
    }
  }
}

Form form_of(TfList list) {
  switch (list) {
    case TfList::kFloat: return Form::fixed32;
    case TfList::kInt64: return Form::varint;
    default: return kLengthDelimited;
  }
}

int64_t count_values(const TfValues& values) {
  int64_t count = 0;
  for_each_value(
      values.bytes, form_of(values.list),
      [&](pbf_reader& message) {
        message.skip();
        ++count;
      },
      [&](pbf_reader& message) {
        if (values.list == TfList::kFloat) {
          count += int64_t(message.get_packed_float().size());
        } else {  // Counts the bytes whose highest bit is 0: each varint has one, its last byte.
          const std::string_view run = view_of(message);
          count += std::count_if(run.begin(), run.end(), [](char byte) { return (byte & 0x80) == 0; });
        }
      });
  return count;
}

/// Stores values into `out`, one after another; there are as many as count_values() returned.
template <class T>
class Sink {
 public:
  explicit Sink(std::span<T> out) : left_(out) {}
  void put(T value) {
    if (left_.empty()) throw protozero::invalid_length_exception();
    left_.front() = value;
    left_ = left_.subspan(1);
  }
  bool is_full() const { return left_.empty(); }

 private:
  std::span<T> left_;
};

/// Reads one entry of the map that tf.Example consists of, a name and its list, into `values`. If `values` has a list of
/// the same kind already, the new values are appended to it, in memory of `merged`.
void read_entry(pbf_reader entry, TfValues& values, std::deque<std::string>& merged) {
  while (entry.next()) {
    if (entry.tag() == 1 && entry.wire_type() == kLengthDelimited) {
      values.name = view_of(entry);
    } else if (entry.tag() == 2 && entry.wire_type() == kLengthDelimited) {
      pbf_reader feature = entry.get_message();
      while (feature.next()) {
        if (feature.tag() < 1 || feature.tag() > 3 || feature.wire_type() != kLengthDelimited) {
          feature.skip();
          continue;
        }
        const auto list = TfList(feature.tag());
        const std::string_view bytes = view_of(feature);
        if (values.list == list) {
          if (merged.empty() || values.bytes.data() != merged.back().data()) merged.emplace_back(values.bytes);
          // merged.back() has the parts of this list so far. Appends to it in place, so that each part is copied once.
          values.bytes = merged.back().append(bytes);
        } else {
          values.list = list;
          values.bytes = bytes;
        }
      }
    } else {
      entry.skip();
    }
  }
}

}  // namespace

std::string_view to_string(TfList list) {
  switch (list) {
    case TfList::kBytes: return "texts";
    case TfList::kFloat: return "float32 values";
    case TfList::kInt64: return "int64 values";
    case TfList::kNone: break;
  }
  return "nothing";
}

Result<int64_t> TfValues::count() const {
  if (list == TfList::kNone) return 0;
  return caught([&] { return count_values(*this); });
}

Result<void> TfValues::copy_floats(std::span<float> out) const {
  SHOAL_TRY(const bool full, caught([&] {
              Sink sink(out);
              for_each_value(
                  bytes, form_of(list), [&](pbf_reader& message) { sink.put(message.get_float()); },
                  [&](pbf_reader& message) {
                    for (const float value : message.get_packed_float()) sink.put(value);
                  });
              return sink.is_full();
            }));
  return full ? Result<void>() : data_loss("the record is damaged");
}

Result<void> TfValues::copy_int64s(std::span<int64_t> out) const {
  SHOAL_TRY(const bool full, caught([&] {
              Sink sink(out);
              for_each_value(
                  bytes, form_of(list), [&](pbf_reader& message) { sink.put(message.get_int64()); },
                  [&](pbf_reader& message) {
                    for (const int64_t value : message.get_packed_int64()) sink.put(value);
                  });
              return sink.is_full();
            }));
  return full ? Result<void>() : data_loss("the record is damaged");
}

Result<void> TfValues::copy_texts(std::span<std::string_view> out) const {
  SHOAL_TRY(const bool full, caught([&] {
              Sink sink(out);
              const auto one = [&](pbf_reader& message) { sink.put(view_of(message)); };
              for_each_value(bytes, form_of(list), one, one);
              return sink.is_full();
            }));
  return full ? Result<void>() : data_loss("the record is damaged");
}

Result<void> TfRecord::read(std::string_view record) {
  values_.clear();
  merged_.clear();
  SHOAL_TRY_VOID(caught([&] {
    pbf_reader example = reader_of(record);
    while (example.next()) {
      if (example.tag() != 1 || example.wire_type() != kLengthDelimited) {
        example.skip();
        continue;
      }
      pbf_reader features = example.get_message();
      while (features.next()) {
        if (features.tag() != 1 || features.wire_type() != kLengthDelimited) {
          features.skip();
          continue;
        }
        TfValues values;
        read_entry(features.get_message(), values, merged_);
        values_.push_back(values);
      }
    }
    return true;
  }));
  return {};
}

const TfValues* TfRecord::find(std::string_view name) const {
  const auto found =
      std::find_if(values_.rbegin(), values_.rend(), [&](const TfValues& values) { return values.name == name; });
  return found == values_.rend() ? nullptr : &*found;
}

std::string TfRecord::names() const {
  constexpr size_t kNamesMax = 10;
  std::string text;
  for (size_t i = 0; i < std::min(values_.size(), kNamesMax); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(values_[i].name.substr(0, 80));
  }
  if (values_.size() > kNamesMax) text += ", ... (" + std::to_string(values_.size()) + " in all)";
  return text.empty() ? "none" : text;
}

}  // namespace shoal::data
