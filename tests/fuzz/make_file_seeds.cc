// SPDX-License-Identifier: Apache-2.0
#include "make_file_seeds.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "../conformance/op_cases.h"
#include "../data/tar_blocks.h"
#include "cache_file.h"
#include "event_codec.h"
#include "model/export_format.h"
#include "sealed_index.h"
#include "shoal/base/check.h"
#include "shoal/base/memory_storage.h"
#include "shoal/base/record_framing.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/writer.h"
#include "shoal/data/tf_example.h"
#include "shoal/graph/ops.h"
#if SHOAL_FUZZ_ZLIB
#include "gzipped.h"
#endif
#if SHOAL_FUZZ_ZSTD
#include <zstd.h>
#endif
#if SHOAL_FUZZ_LZ4
#include <lz4frame.h>
#endif

namespace shoal::fuzz {

using data::TensorMap;

void write_seed(const std::filesystem::path& folder, const std::string& target, const std::string& name,
                const std::string& bytes) {
  std::filesystem::create_directories(folder / target);
  std::ofstream file(folder / target / name, std::ios::binary);
  SHOAL_CHECK(file << bytes);
}

namespace {

class FileSeeds {
 public:
  explicit FileSeeds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // ---- checkpoints -----------------------------------------------------------------------------------------------------

  void checkpoints() {
    save("empty", [](checkpoint::Writer&) {});
    save("tensors", [](checkpoint::Writer& writer) {
      const Tensor kernel = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), count = Tensor::of<int64_t>({}, {7});
      const checkpoint::Writer::NamedTensor tensors[] = {{"dense/kernel", kernel.view()},
                                                         {"dense/kernel/momentum", kernel.view(), "dense/kernel"},
                                                         {"count", count.view()}};
      value_or_raise(writer.add_tensors(tensors));
    });
    save("parts", [](checkpoint::Writer& writer) {  // The rows of a table lie on two servers.
      for (const auto& [begin, end] : {std::pair<int64_t, int64_t>(0, 2), {2, 5}}) {
        const checkpoint::Segment rows{
            .name = "table", .shape = Shape({5, 2}), .slot_of = "", .offset = 64, .row_begin = begin, .row_end = end};
        const int file = value_or_raise(writer.add_arena({.bytes = 64 + rows.bytes(), .segments = {rows}}));
        value_or_raise(writer.append(file, std::vector<std::byte>(64 + rows.bytes(), std::byte(0x3f))));
      }
    });
    seed("checkpoint_pointer", "two", checkpoint::encode_pointer({"model.ckpt-5", {"model.ckpt-0", "model.ckpt-5"}}));
    seed("checkpoint_pointer", "of_another_program",
         "# by hand\nmodel_checkpoint_path: \"model.ckpt-5\"\r\nlast_preserved_timestamp: 1.5\n\n");
    const WallTime then{std::chrono::seconds(1'700'000'000)};
    checkpoint::EndMark mark{.run = 3, .global_step = 5, .checkpoint = "model.ckpt-5", .wall_time = then};
    seed("end_mark", "plain", checkpoint::encode_end_mark(mark));
    mark.shoal_run = "night \"7\"";
    seed("end_mark", "launched", checkpoint::encode_end_mark(mark));
    seed("end_mark", "before_runs_had_numbers",
         R"({"global_step":5,"checkpoint":"model.ckpt-5","reason":"end_of_input","wall_time":1700000000.25})");
    seed("end_mark", "run", "{\"run\":3}\n");
  }

  // ---- events ----------------------------------------------------------------------------------------------------------

  void events() {
    using namespace monitor;
    const Scalar scalars[] = {{"loss", 0.5}, {"accuracy", 0.25}};
    Histogram histogram;
    histogram.count = 2;
    histogram.limits = {0.5, 1};
    histogram.counts = {1, 1};
    const std::string version = encode_version_event(1.5), steps = encode_scalars(2.5, 10, scalars),
                      bars = encode_histogram(3.5, 20, "dense/kernel", histogram),
                      words = encode_text(4.5, 30, "notes", "a\nb");
    std::string file;
    for (const std::string& payload : {version, steps, bars, words}) append_record(file, payload);
    seed("event_file", "whole", char(0) + (char(90) + file));
    seed("event_file", "cut", char(0) + (char(90) + file.substr(0, file.size() - 3)));
    const auto records = [](std::initializer_list<std::string> payloads) {
      std::string bytes{1, 100};
      for (const std::string& payload : payloads) bytes += bytes_of(uint16_t(payload.size())) + payload;
      return bytes;
    };
    seed("event_file", "scalars", records({version, steps}));
    seed("event_file", "histogram", records({bars}));
    seed("event_file", "text", records({words, ""}));
    // PyTorch's writer stores a scalar so: a tensor of one number, by content and by a list that is not packed.
    const std::string tensor = std::string("\x2a\x10\x0a\x0e\x0a\x01", 6) + "x" +
                               std::string("\x42\x09\x08\x01\x22\x04", 6) + std::string(4, 0x3f) +
                               std::string("\x45\0\0\x80\x3f", 5);
    seed("event_file", "tensor", records({tensor}));
    seed("event_file", "image",
         records({encode_image(5.5, 40, "input/image/0", {.bytes = "\x89PNG", .width = 28, .height = 14, .channels = 1})}));
    const int64_t shape[] = {2, 3};
    const float numbers[] = {0, 1, 2, 3, 4, 5};
    seed("event_file", "matrix",
         records({encode_tensor(6.5, 50, "m", {.shape = shape, .values = numbers, .plugin = "shoal_confusion_matrix"})}));
    seed("event_file", "hparams",
         records({encode_session_start(7.5,
                                       {.parameters = {{"rate", 0.5}, {"bias", true}, {"name", "x"}}, .model_dir = "m"})}));
    const GraphNode nodes[] = {{.name = "x", .op = "input", .outputs = {{.data_type = 1, .shape = {-1, 3}}}}};
    seed("event_file", "graph", records({encode_graph(8.5, nodes)}));
    // Images of TensorFlow 2: width, height and the file as texts, with the plug-in behind them.
    const std::string texts = std::string("\x2a\x1c\x0a\x1a\x42\x0c", 6) +
                              std::string(
                                  "\x42\x02"
                                  "28\x42\x01"
                                  "9\x42\x03"
                                  "png",
                                  12) +
                              std::string(
                                  "\x4a\x0a\x0a\x08\x0a\x06"
                                  "images",
                                  12);
    seed("event_file", "image_as_texts", records({texts}));
  }

  // ---- data sets -------------------------------------------------------------------------------------------------------

  /// The target knows the bytes by which a file is recognised.
  void compressed(uint8_t kind, const std::string& name, uint16_t chunk_bytes, const std::string& file) {
    constexpr size_t kMagicBytes[] = {2, 4, 4};
    seed("compressed", name, char(kind) + bytes_of(uint16_t(chunk_bytes - 1)) + file.substr(kMagicBytes[kind]));
  }
  void compressed_files([[maybe_unused]] const std::string& labels) {
#if SHOAL_FUZZ_ZLIB
    compressed(0, "labels", 4, gzipped(labels));
    compressed(0, "zeros", 1000, gzipped(std::string(20000, '\0')));
    compressed(0, "two_members", 7, gzipped("a,b\n") + gzipped("") + gzipped("1,2\n"));
#endif
#if SHOAL_FUZZ_ZSTD
    const auto zstd = [](const std::string& contents) {
      std::string file(ZSTD_compressBound(contents.size()), '\0');
      file.resize(ZSTD_compress(file.data(), file.size(), contents.data(), contents.size(), 3));
      return file;
    };
    compressed(1, "zstd_labels", 4, zstd(labels));
    compressed(1, "zstd_zeros", 1000, zstd(std::string(20000, '\0')));
    compressed(1, "zstd_two_frames", 7, zstd("a,b\n") + zstd("") + zstd("1,2\n"));
#endif
#if SHOAL_FUZZ_LZ4
    const auto lz4 = [](const std::string& contents) {
      std::string file(LZ4F_compressFrameBound(contents.size(), nullptr), '\0');
      file.resize(LZ4F_compressFrame(file.data(), file.size(), contents.data(), contents.size(), nullptr));
      return file;
    };
    compressed(2, "lz4_labels", 4, lz4(labels));
    compressed(2, "lz4_zeros", 1000, lz4(std::string(20000, '\0')));
    compressed(2, "lz4_two_frames", 7, lz4("a,b\n") + lz4("") + lz4("1,2\n"));
#endif
  }

  void examples() {
    const TensorMap all{{"f", Tensor::of<float>({2}, {1, -2})},        {"i", Tensor::scalar(int64_t(-1))},
                        {"s", Tensor::of_strings({}, {"text"})},       {"u", Tensor::of<uint8_t>({3}, {1, 2, 3})},
                        {"n", Tensor::scalar(int32_t(300))},           {"F", Tensor::of<float>({1}, {0.5f})},
                        {"I", Tensor::of<int64_t>({2}, {1, 1 << 20})}, {"S", Tensor::of_strings({2}, {"", "b"})},
                        {"v", Tensor::of<float>({2}, {7, 8})},         {"p", Tensor::of<int64_t>({2}, {3, 0})}};
    seed("tf_example", "all", char(0) + data::make_tf_example(all));
    seed("tf_example", "none", char(0x1f) + data::make_tf_example({}));
    seed("tf_example", "few", char(0x1c) + data::make_tf_example({{"f", all["f"]}, {"i", all["i"]}}));
    // Numbers that are not packed, and a feature in two pieces.
    seed("tf_example", "unpacked",
         std::string("\x1f\x0a\x15\x0a\x13\x0a\x01I\x12\x0e\x1a\x04\x08\x05\x08\x06\x1a\x06\x0a\x04\x07\x80\x01\x08", 24));
  }

  /// Files of cache(), whole and as records without their framing.
  void cache_files() {
    for (const bool compress : {false, true}) {
      const auto storage = make_memory_storage();
      auto writer = value_or_raise(data::CacheFileWriter::create(*storage, "a", 7, compress));
      for (int64_t i = 0; i < 3; ++i) {
        const TensorMap features{{"n", Tensor::scalar(i)}, {"t", Tensor::of_strings({2}, {"", "text"})}};
        value_or_raise(writer.append({.features = features, .labels = Tensor::of<float>({2}, {1, 2})}));
      }
      value_or_raise(writer.finish());
      const std::string file = value_or_raise(storage->read_all("a"));
      std::string unframed;
      for (size_t at = 0; at < file.size() - 16;) {
        const auto length = load_little_endian<uint64_t>(std::string_view(file).substr(at));
        unframed += bytes_of(uint16_t(length)) + file.substr(at + kRecordHeadBytes, size_t(length));
        at += kRecordHeadBytes + size_t(length) + kRecordTailBytes;
      }
      const std::string name = compress ? "compressed" : "plain";
      seed("cache_file", name, char(0) + file);
      seed("cache_file", name + "_records", char(1) + unframed);
    }
  }

  void data_sets() {
    const auto idx = [](uint8_t type, std::initializer_list<uint8_t> sizes, size_t bytes) {
      std::string file{0, 0, char(type), char(sizes.size())};
      for (const uint8_t size : sizes) file += std::string{0, 0, 0, char(size)};
      return file + std::string(bytes, '\x07');
    };
    const std::string labels = idx(0x08, {3}, 3);
    seed("idx", "images", char(0) + idx(0x08, {2, 3, 4}, 24));
    seed("idx", "labels", char(1) + labels);
    seed("idx", "doubles", char(1) + idx(0x0e, {2}, 16));
    seed("idx", "shorts", char(1) + idx(0x0b, {3}, 6));
    seed("idx", "cut", char(1) + idx(0x0d, {3, 2}, 20));
    compressed_files(labels);
    cache_files();
    examples();
    const auto records = [this](const std::string& name, uint8_t how, uint16_t length, const std::string& file) {
      seed("record_file", name, char(how) + (bytes_of(uint16_t(length - 1)) + file));
    };
    std::string framed;
    for (const char* record : {"one", "", "three"}) append_record(framed, record);
    records("tf_records", 0, 100, framed);
    records("tf_records_cut", 0, 100, framed.substr(0, framed.size() - 2));
    records("tf_records_too_long", 0, 4, framed);
    records("tf_records_framed_here", 1, 100,
            bytes_of(uint16_t(2)) + "ab" + bytes_of(uint16_t(0)) + bytes_of(uint16_t(3)) + "cde");
    records("fixed_length", 2, 4, "abcdefgh");
    records("fixed_length_between", 2 + 3 * 2 + 12 * 3, 4, "hhabcdefghfff");
    records("fixed_length_cut", 2, 4, "abcdefg");
    tar_files();
    const auto text = [this](const std::string& name, uint8_t how, const std::string& file) {
      seed("text_file", name, char(how) + (bytes_of(uint16_t(100)) + file));
    };
    text("lines", 0, "first\nsecond\r\n\nlast");
    text("numbers", 1, "0.5,7,2\n+1e3,,-3\n");
    text("quotes", 1, "\"a \"\"b\"\"\",\"two\nlines\",c\n?,,\n");
    text("blanks", 11, " a ; \"b\" ;c\n1 ; 2 ; 3\n");
    text("tabs", 13, "\"a\"\t b \t\"c\"\n\t\"2\"\t3\n");
  }

  /// The target puts archives together, or computes the checksums of their headers.
  void tar_files() {
    using namespace data;
    const auto archive = [this](const std::string& name, uint8_t how, const std::string& file) {
      seed("tar_file", name, char(how) + (bytes_of(uint16_t(100)) + file));
    };
    const std::string whole = tar_entry("a.x", "one") + tar_entry("a.txt", "") + tar_entry("b.x", "two");
    archive("whole", 0, whole + tar_end());
    archive("checksums", 1, whole + tar_end());
    archive("version_7", 1,
            tar_block({.name = "d/", .type = '\0', .magic = ""}) + tar_block({.name = "a.x", .type = '\0', .magic = ""}));
    archive("base_256", 1,
            tar_block({.name = "a.x", .prefix = "p", .size = std::string("\x80\0\0\0\0\0\0\0\0\0\0\3", 12)}) + "one" +
                std::string(509, '\0'));
    const auto entry = [](char type, const std::string& name, const std::string& contents) {
      return type + (bytes_of(uint16_t(name.size())) + name) + (bytes_of(uint16_t(contents.size())) + contents);
    };
    const std::string samples = entry('5', "d", "") + entry('0', "d/a.x", "one") + entry('0', "none", "") +
                                entry('0', "d/a.TXT", "two") + entry('2', "d/b.x", "") + entry('0', "d/b.y", "three") +
                                entry('0', "d/c.x", std::string(90, 'x'));
    archive("samples", 2, samples);
    archive("extensions", 5, samples);
    archive("sizes", 8, samples + entry('0', "d/c.y", std::string(101, 'x')));
    archive("pax", 2,
            entry('g', "", "17 comment=hello\n") + entry('x', "", "14 path=n.txt\n9 size=3\n") + entry('0', "cut", "one") +
                samples);
    archive("long_names", 2,
            entry('L', "", std::string(120, 'n') + ".x") + entry('K', "", "link") + entry('0', "cut", "one") + samples);
    archive("second_file", 2, entry('0', "a.x", "1") + entry('0', "a.X", "2"));
    archive("sparse", 2,
            samples + entry('x', "", "22 GNU.sparse.major=1\n") + entry('0', "e.x", "") + entry('S', "f.x", ""));
    archive("global_path", 2, samples + entry('g', "", "12 path=abc\n") + entry('0', "e.x", ""));
  }

  // ---- graphs ----------------------------------------------------------------------------------------------------------

  void graphs() {
    std::string previous;
    for (const backends::testing::OpCase& op_case : backends::testing::op_cases()) {
      if (op_case.op == previous) continue;  // One case of each op is enough.
      previous = op_case.op;
      backends::testing::CaseBuilder builder(op_case.name());
      op_case.build(builder);
      graph(op_case.op, builder.graph());
    }
    Graph loss(RandomKey{5});
    const Value x = loss.input("x", DType::kFloat32, {Dim::symbol("batch"), 3});
    const Value labels = loss.input("labels", DType::kInt64, {Dim::symbol("batch")});
    const Value kernel = loss.variable("kernel", {2, 3}, {.initializer = {Initializer::Kind::kTruncatedNormal, 0, 0.1}});
    const Value bias = loss.constant(Tensor::of<float>({2}, {0.5f, -1}));
    gradients(ops::reduce_mean(ops::softmax_cross_entropy({.labels = labels, .logits = ops::dense(x, kernel, bias)}).loss),
              {kernel});
    graph("loss", loss);
    Meaning words;
    const std::vector<std::string> list{"ash", "elm"};
    words.add("features/wood", {.kind = "vocabulary", .lists = {{"words", MeaningList::of(list)}}});
    words.add("features/wood", {.kind = "hash", .values = {{"buckets", "7"}}});
    seed("meaning", "words", words.encode());
    seed("meaning", "empty", Meaning().encode());
    seed("graph_json", "version", R"({"format":"shoal-graph","version":[2],"seed":"1","nodes":[],"variables":[]})");
  }

  void exports() {
    ExportDescription description{.global_step = 7, .inputs = {}, .outputs = {}, .texts = {}};
    description.inputs = {{"image", DType::kFloat32, {-1, 28, 28, 1}}, {"", DType::kInt64, {}}};
    description.outputs = {{{"classes", DType::kInt64, {-1}}, "head/argmax", 0}};
    description.meaning = Meaning().encode();
    description.texts = {{"names", "classes", {"a", "b"}}, {"digits", "classes", {}}};
    seed("export_json", "all", nlohmann::json::parse(encode_export(description)).dump());
    seed("export_json", "empty", encode_export({}));
    seed("export_json", "newer", R"({"format":2})");
    description.files = {{"graph.json", 12, 7}, {"variables/checkpoint", 3, 8}};
    const std::string sealed = encode_export(description);
    seed("export_json", "checksums", sealed);
    seed("export_json", "behind_a_checksum", sealed.substr(sealed.find('\n') + 1));
  }

 private:
  void seed(const std::string& target, const std::string& name, const std::string& bytes) {
    write_seed(folder_, target, name, bytes);
  }

  /// The index of a checkpoint that `fill` writes, as a file, its body alone, and with its data files, see
  /// checkpoint_data_target.cc.
  template <class Fill>
  void save(const std::string& name, Fill fill) {
    const auto storage = make_file_storage();
    const std::string model = value_or_raise(storage->make_temporary_folder("/tmp/shoal-seeds-"));
    const auto writer = value_or_raise(checkpoint::Writer::begin(*storage, model, 1));
    fill(*writer);
    checkpoint::SaveInfo info;
    info.counters = {{"dense/kernel", 3}};
    info.positions = {{"chief/0", std::string("{\"a\":1}\0", 8)}};
    info.numerics = "reference float32";
    info.fingerprint = "00ff";
    const checkpoint::Saved saved = value_or_raise(writer->commit(std::move(info), {}));
    const std::string index = value_or_raise(storage->read_all(saved.prefix + ".index"));
    const size_t begin = kIndexBegin.size() + 16 + kIndexMiddle.size();
    const std::string body = index.substr(begin, index.size() - begin - kIndexEnd.size());
    SHOAL_CHECK(sealed_index(body) == index);
    std::string files;
    for (const auto& file : value_or_raise(checkpoint::decode_manifest(index)).files) {
      files += value_or_raise(storage->read_all(join_path(model, file.name)));
    }
    value_or_raise(storage->remove_all(model));
    seed("checkpoint_index", name, char(0) + index);
    seed("checkpoint_index", name + "_sealed", char(1) + body);
    seed("checkpoint_data", name, char(0) + (bytes_of(uint16_t(body.size())) + body + files));
    seed("checkpoint_data", name + "_sealed", char(1) + (bytes_of(uint16_t(body.size())) + body + files));
  }

  void graph(const std::string& name, const Graph& graph) {
    seed("graph_json", name, nlohmann::ordered_json::parse(graph.to_json()).dump());  // The text has no blanks.
  }

  const std::filesystem::path folder_;
};

}  // namespace

void write_file_seeds(const std::filesystem::path& folder) {
  FileSeeds seeds(folder);
  seeds.checkpoints();
  seeds.events();
  seeds.data_sets();
  seeds.graphs();
  seeds.exports();
  write_image_seeds(folder);
  write_array_seeds(folder);
#if SHOAL_FUZZ_ONNX
  write_onnx_seeds(folder);
#endif
}

}  // namespace shoal::fuzz
