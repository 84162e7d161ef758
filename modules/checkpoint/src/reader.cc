// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/reader.h"

#include <algorithm>
#include <optional>

#include "piece_stream.h"
#include "shoal/checkpoint/checksum.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kIndexBytesMax = uint64_t(256) << 20;
constexpr uint64_t kBlockBytes = uint64_t(1) << 20;

std::string folder_of(const std::string& prefix) {
  const size_t slash = prefix.rfind('/');
  return slash == std::string::npos ? std::string(".") : prefix.substr(0, slash + 1);
}

/// Reads the first `end` bytes of `file` and calls visit(offset, block) for each block.
template <class Visit>
Result<void> for_each_block(const ReadableFile& file, uint64_t end, Visit visit) {
  std::vector<std::byte> block(std::min(kBlockBytes, end));
  for (uint64_t at = 0; at < end;) {
    const std::span<std::byte> part(block.data(), std::min<uint64_t>(block.size(), end - at));
    SHOAL_TRY_VOID(file.read_at(at, part));
    visit(at, std::span<const std::byte>(part));
    at += part.size();
  }
  return {};
}

std::string mismatch(uint64_t found, uint64_t expected) {
  return "checksum " + to_hex(found) + ", expected " + to_hex(expected);
}

/// Verifies each part of a file that has a checksum of its own: rows of a tensor, or a patch (changes of rows since an
/// earlier checkpoint). The caller passes all bytes of the file to update(), in order.
class RegionChecker {
 public:
  RegionChecker(const Manifest& manifest, uint32_t file) {
    for (const TensorEntry& tensor : manifest.tensors) {
      for (const Piece& piece : tensor.pieces) {
        if (piece.file == file) expect(tensor, piece.offset, piece.bytes, piece.checksum);
        for (const Patch& patch : piece.patches) {
          if (patch.file != file) continue;
          expect(tensor, patch.offset, patch.count * sizeof(int64_t), patch.numbers_checksum);
          expect(tensor, patch.units_offset(), patch.bytes, patch.checksum);
        }
      }
    }
    std::ranges::sort(expected_, {}, &Expected::begin);
  }

  void update(uint64_t at, std::span<const std::byte> block) {
    const uint64_t block_end = at + block.size();
    for (; next_ < expected_.size(); ++next_) {
      const Expected& region = expected_[next_];
      const uint64_t begin = std::max(at, region.begin);
      const uint64_t end = std::min(block_end, region.end);
      if (begin < end) checksum_.update(block.subspan(begin - at, end - begin));
      if (block_end < region.end) return;
      if (!wrong_ && checksum_.value() != region.checksum) {
        wrong_ = region.tensor->name + ": " + mismatch(checksum_.value(), region.checksum);
      }
      checksum_ = Checksum();
    }
  }

  /// Describes the first wrong checksum in the file: "dense/kernel: checksum ..., expected ...". Nothing if none is wrong.
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  struct Expected {
    const TensorEntry* tensor;
    uint64_t begin, end;
    uint64_t checksum;
  };
  void expect(const TensorEntry& tensor, uint64_t offset, uint64_t bytes, uint64_t checksum) {
    if (bytes > 0) expected_.push_back({&tensor, offset, offset + bytes, checksum});
  }

  std::vector<Expected> expected_;
  size_t next_ = 0;
  Checksum checksum_;
  std::optional<std::string> wrong_;
};

}  // namespace

Error Reader::damaged(std::string_view what, FileKind kind) const {
  std::string help = if_damaged_;
  if (help.empty() && kind == FileKind::kTensors)
    help = "delete this checkpoint (" + prefix_ + ".*) to resume from an older one";
  if (help.empty()) {
    help =
        "other checkpoints may share this file: shoal checkpoint list says which are intact; if none is, restore one from "
        "a copy";
  }
  return data_loss("checkpoint " + prefix_ + ": " + std::string(what) + "; " + help);
}

/// Opens all files now, since a file that is open stays readable even if it is deleted later.
Result<bool> Reader::open_files(Storage& storage) {
  files_.clear();
  for (const DataFile& file : manifest_.files) {
    Result<std::unique_ptr<ReadableFile>> opened = storage.open(join_path(folder_of(prefix_), file.name));
    if (!opened && opened.error().kind() == ErrorKind::kNotFound) return false;
    if (!opened) return std::move(opened).error().with_context("checkpoint " + prefix_);
    if ((*opened)->size() != file.bytes) {
      return damaged(
          "file " + file.name + ": " + std::to_string((*opened)->size()) + " bytes, expected " + std::to_string(file.bytes),
          file.kind);
    }
    files_.push_back(std::move(opened).value());
  }
  return true;
}

/// If a file that the index names is missing, another process may have saved the same step again after the index was read.
/// So the index is then read once more, and if it has changed, the files of the new index are opened.
Result<std::unique_ptr<Reader>> Reader::open(Storage& storage, std::string prefix, std::string if_damaged) {
  std::unique_ptr<Reader> reader(new Reader(std::move(prefix), std::move(if_damaged)));
  for (std::optional<std::string> before;;) {
    Result<std::string> text = storage.read_all(reader->prefix_ + ".index", kIndexBytesMax);
    if (!text && text.error().kind() == ErrorKind::kInvalidArgument) return reader->damaged(text.error().message());
    if (!text) return std::move(text).error().with_context("checkpoint " + reader->prefix_);
    if (*text == before) {
      return not_found("checkpoint " + reader->prefix_ + ": its index exists, but not its file " +
                       reader->manifest_.files[reader->files_.size()].name);
    }
    Result<Manifest> manifest = decode_manifest(*text);
    if (!manifest && manifest.error().kind() == ErrorKind::kFailedPrecondition) {
      return std::move(manifest).error().with_context("checkpoint " + reader->prefix_ + ": index");
    }
    if (!manifest) return reader->damaged("index: " + manifest.error().message());
    reader->manifest_ = std::move(manifest).value();
    SHOAL_TRY(const bool complete, reader->open_files(storage));
    if (complete) return reader;
    before = std::move(text).value();
  }
}

/// Copies rows of a tensor from one piece (rows that are stored together in a file) to `out`. One checksum covers the whole
/// piece, so all of the piece is read even if only some rows are needed.
Result<void> Reader::read_piece(const TensorEntry& tensor, const Piece& piece, int64_t row_begin, int64_t row_end,
                                std::span<std::byte> out) const {
  PieceStream stream(manifest_, files_, tensor, piece);
  const uint64_t wanted_begin = uint64_t(row_begin - piece.row_begin) * tensor.row_bytes();
  const uint64_t wanted_end = uint64_t(row_end - piece.row_begin) * tensor.row_bytes();
  std::vector<std::byte> unwanted(std::min(kBlockBytes, piece.bytes - out.size()));
  const auto pass = [&](uint64_t begin, uint64_t end) -> Result<void> {
    for (; begin < end; begin += std::min<uint64_t>(unwanted.size(), end - begin)) {
      SHOAL_TRY_VOID(stream.next(std::span(unwanted).first(std::min<uint64_t>(unwanted.size(), end - begin))));
    }
    return {};
  };
  const auto read = [&]() -> Result<void> {
    SHOAL_TRY_VOID(pass(0, wanted_begin));
    SHOAL_TRY_VOID(stream.next(out));
    SHOAL_TRY_VOID(pass(wanted_end, piece.bytes));
    return stream.finish();
  };
  Result<void> done = read();
  if (!done && done.error().kind() == ErrorKind::kDataLoss)
    return damaged(done.error().message(), manifest_.files[piece.file].kind);
  if (!done) return std::move(done).error().with_context("checkpoint " + prefix_);
  return {};
}

Result<void> Reader::read_rows(std::string_view name, int64_t row_begin, int64_t row_end, std::span<std::byte> out) const {
  const TensorEntry* tensor = manifest_.find(name);
  if (!tensor) return not_found("checkpoint " + prefix_ + ": it has no variable " + std::string(name));
  if (row_begin < 0 || row_end < row_begin || row_end > tensor->rows() ||
      out.size() != uint64_t(row_end - row_begin) * tensor->row_bytes()) {
    return invalid_argument("checkpoint " + prefix_ + ": cannot read rows " + std::to_string(row_begin) + " to " +
                            std::to_string(row_end) + " of variable " + tensor->name + " " + to_string(tensor->shape) +
                            " into " + std::to_string(out.size()) + " bytes");
  }
  for (const Piece& piece : tensor->pieces) {
    const int64_t begin = std::max(piece.row_begin, row_begin);
    const int64_t end = std::min(piece.row_end, row_end);
    if (begin >= end) continue;
    const std::span<std::byte> part = out.subspan(size_t(uint64_t(begin - row_begin) * tensor->row_bytes()),
                                                  size_t(uint64_t(end - begin) * tensor->row_bytes()));
    SHOAL_TRY_VOID(read_piece(*tensor, piece, begin, end, part));
  }
  return {};
}

Result<void> Reader::read(std::string_view name, std::span<std::byte> out) const {
  const TensorEntry* tensor = manifest_.find(name);
  return read_rows(name, 0, tensor ? tensor->rows() : 0, out);
}

Result<Tensor> Reader::read_tensor(std::string_view name) const {
  const TensorEntry* tensor = manifest_.find(name);
  if (!tensor) return not_found("checkpoint " + prefix_ + ": it has no variable " + std::string(name));
  Tensor result(tensor->dtype, tensor->shape);
  SHOAL_TRY_VOID(read(name, {result.mutable_view().data, result.bytes()}));
  return result;
}

Result<void> Reader::verify_file(uint32_t file) const {
  const DataFile& expected = manifest_.files[file];
  RegionChecker regions(manifest_, file);
  Checksum checksum;
  Result<void> done = for_each_block(*files_[file], expected.bytes, [&](uint64_t at, std::span<const std::byte> block) {
    checksum.update(block);
    regions.update(at, block);
  });
  const std::string where = "file " + expected.name;
  if (!done && done.error().kind() == ErrorKind::kDataLoss)
    return damaged(where + ": " + done.error().message(), expected.kind);
  if (!done) return std::move(done).error().with_context("checkpoint " + prefix_);
  // If a region is damaged, the error names its variable; otherwise the damage is in the file's header.
  if (regions.wrong()) return damaged(where + ", variable " + *regions.wrong(), expected.kind);
  if (checksum.value() != expected.checksum)
    return damaged(where + ": " + mismatch(checksum.value(), expected.checksum), expected.kind);
  return {};
}

Result<void> Reader::verify() const {
  for (uint32_t file = 0; file < manifest_.files.size(); ++file) SHOAL_TRY_VOID(verify_file(file));
  return {};
}

std::vector<std::string> Reader::file_names() const {
  std::vector<std::string> names;
  for (const DataFile& file : manifest_.files) names.push_back(file.name);
  const size_t slash = prefix_.rfind('/');
  names.push_back((slash == std::string::npos ? prefix_ : prefix_.substr(slash + 1)) + ".index");
  return names;
}

}  // namespace shoal::checkpoint
