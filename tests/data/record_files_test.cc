// SPDX-License-Identifier: Apache-2.0
// TFRecord files and records of a fixed length, against files that a program in Python makes and reads.
#include <gmock/gmock.h>

#include <fstream>

#include "../base/stored_gzip.h"
#include "collecting.h"
#include "other_programs.h"

#if __has_include(<zlib.h>)
#include <zlib.h>
#endif

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordFiles : public ::testing::Test {
 protected:
  /// All records, as texts.
  std::vector<std::string> texts(const Dataset& dataset) {
    std::vector<std::string> result;
    for (const Element& element : dataset.elements()) {
      const Tensor& record = element.features.single();
      if (record.dtype() == DType::kString) {
        result.push_back(record.strings()[0]);
      } else {
        const auto bytes = record.as<uint8_t>();
        result.emplace_back(bytes.begin(), bytes.end());
      }
    }
    return result;
  }
  std::optional<Error> error_of(const Dataset& dataset) {
    return raised([&] { texts(dataset); });
  }
  std::string write_records(const std::string& name, const std::vector<std::string>& records) {
    TfRecordWriter writer = value_or_raise(TfRecordWriter::create(folder_ / name));
    for (const std::string& record : records) value_or_raise(writer.append(record));
    value_or_raise(writer.finish());
    return folder_ / name;
  }
  TemporaryFolder folder_;
  const std::vector<std::string> records_{"one", "", std::string("\0\xff two\n", 7), std::string(3'000'000, 'x')};
};

TEST_F(RecordFiles, ComeBackFileByFile) {
  const std::string a = write_records("a", records_), none = write_records("none", {}), b = write_records("b", {"last"});
  std::vector<std::string> expected = records_;
  expected.push_back("last");
  EXPECT_EQ(texts(Dataset::tf_records({a, none, b})), expected);
  EXPECT_EQ(texts(Dataset::tf_records({a, none, b}).skip(2)),
            std::vector<std::string>(expected.begin() + 2, expected.end()));
  EXPECT_EQ(texts(Dataset::tf_records({a, b}).shard(2, 1)), (std::vector<std::string>{"", records_[3]}));
}

#if __has_include(<zlib.h>)
/// One member of the file is whole, and the next one is damaged.
TEST_F(RecordFiles, WarnOfBytesBehindGzip) {
  std::ifstream plain(write_records("plain", {"one", "two"}), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(plain), std::istreambuf_iterator<char>()};
  const std::string path = folder_.write("r.gz", stored_gzip(bytes) + "\x1f\x8c damaged");
  const std::string fixed = folder_.write("f.gz", stored_gzip("onetwo") + "\x1f\x8c damaged");
  for (const Dataset& dataset : {Dataset::tf_records({path}), Dataset::tf_records({path}).skip(1),
                                 Dataset::fixed_length_records({fixed}, {.record_bytes = 3})}) {
    std::vector<std::string> warnings;
    const auto told =
        make_production_environment({.sink = [&](const LogRecord& record) { warnings.emplace_back(record.message); }});
    const auto iterator = value_or_raise(dataset.repeat(2).iterate(*told));
    for (Element element; value_or_raise(iterator->next(element));) {
    }
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(".gz: the last 10 bytes of the file are no gzip data")));
  }
}
#endif

/// An independent program: its CRC-32C is computed bit by bit.
TEST_F(RecordFiles, AreThoseOfAnotherProgram) {
  const std::string script = python("tf_records.py");
  if (!python_has("struct")) GTEST_SKIP() << "python3 is not installed: the other program cannot run";
  EXPECT_EQ(output_of(script + "write " + (folder_ / "theirs") + " one '' drei"), "");
  EXPECT_THAT(texts(Dataset::tf_records({folder_ / "theirs"})), ElementsAre("one", "", "drei"));
  EXPECT_EQ(contents_of(write_records("ours", {"one", "", "drei"})), contents_of(folder_ / "theirs"));
  EXPECT_EQ(output_of(script + "read " + write_records("ours", {"one", "", "drei"})), "one\n\ndrei\n");
}

/// The first two bytes of such a file are those of gzip.
TEST_F(RecordFiles, AreToldFromGzipWhereALengthBeginsAsThatDoes) {
  for (const size_t size : {35615u, 35615u + 65536u, 0x88b1fu}) {
    const std::vector<std::string> records{std::string(size, 'r'), "two"};
    EXPECT_EQ(texts(Dataset::tf_records({write_records("a", records)})), records) << size;
  }
}

TEST_F(RecordFiles, GoOnFromEveryPosition) {
  const Dataset dataset = Dataset::tf_records({write_records("a", {"1", "22", "333"}), write_records("b", {"4444"})});
  const auto env = make_production_environment({});
  const auto iterator = open(dataset, *env);
  Element element;
  for (size_t i = 0; i <= 4; ++i) {
    const auto other = open(dataset, *env);
    ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
    std::vector<size_t> sizes;
    while (*other->next(element)) sizes.push_back(element.features.single().strings()[0].size());
    std::vector<size_t> expected;
    for (size_t k = i + 1; k <= 4; ++k) expected.push_back(k);
    EXPECT_EQ(sizes, expected);
    ASSERT_EQ(*iterator->next(element), i < 4);
  }
}

TEST_F(RecordFiles, DamageNamesFileRecordAndOffset) {
  const std::string path = write_records("a", {"one", "two"});
  const std::string whole = contents_of(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x10);
    std::ofstream(path, std::ios::binary) << damaged;
    const auto error = error_of(Dataset::tf_records({path}));
    ASSERT_TRUE(error) << at;
    EXPECT_EQ(error->kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(error->message(), HasSubstr(path + (at < 19 ? ", record 1 (offset 0): " : ", record 2 (offset 19): ")));
    std::ofstream(path, std::ios::binary) << whole.substr(0, at);
    const auto cut = error_of(Dataset::tf_records({path}));
    EXPECT_EQ(cut.has_value(), at != 0 && at != 19) << at;
    if (cut) {
      EXPECT_THAT(cut->message(), HasSubstr("the file ends within "));
    }
  }
}

TEST_F(RecordFiles, ARecordBeyondTheLimitIsRefused) {
  const std::string path = write_records("a", {"12345", "1234567"});
  EXPECT_THAT(error_of(Dataset::tf_records({path}, {.record_bytes_max = 5}))->message(),
              HasSubstr("record 2 (offset 21): it has 7 bytes, more than record_bytes_max, 5"));
}

TEST_F(RecordFiles, ErrorsOfFunctionsNameTheRecord) {
  const auto picky = [](Element one) -> Result<Element> {
    if (one.features.single().strings()[0] == "two") return invalid_argument("not two");
    return one;
  };
  const std::string path = write_records("a", {"one", "two"});
  EXPECT_THAT(error_of(Dataset::tf_records({path}).map(picky))->message(),
              HasSubstr(path + ", record 2: the function of map: not two"));
}

#if __has_include(<zlib.h>)
TEST_F(RecordFiles, MayBeCompressed) {
  const std::string bytes = contents_of(write_records("a", records_));
  const std::string path = folder_ / "a.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, bytes.data(), unsigned(bytes.size())), int(bytes.size()));
  gzclose(file);
  EXPECT_EQ(texts(Dataset::tf_records({path})), records_);
  EXPECT_EQ(texts(Dataset::tf_records({path}).skip(3)), std::vector<std::string>{records_[3]});
  EXPECT_THAT(error_of(Dataset::fixed_length_records({path}, {.record_bytes = 2, .footer_bytes = 1}))->message(),
              HasSubstr("nobody knows where a compressed file ends"));
}
#endif

TEST_F(RecordFiles, OfAFixedLength) {
  const auto file_of = [&](const std::string& text) { return folder_.write("f", text); };
  const FixedLengthOptions options{.record_bytes = 3, .header_bytes = 2, .footer_bytes = 1};
  EXPECT_THAT(texts(Dataset::fixed_length_records({file_of("hhabcdeff")}, options)), ElementsAre("abc", "def"));
  EXPECT_THAT(texts(Dataset::fixed_length_records({file_of("hhabcdeff")}, options).skip(1)), ElementsAre("def"));
  EXPECT_THAT(texts(Dataset::fixed_length_records({file_of("hhf")}, options)), ElementsAre());
  EXPECT_THAT(texts(Dataset::fixed_length_records({file_of("abcdef")}, {.record_bytes = 3})), ElementsAre("abc", "def"));
  for (const char* text : {"h", "hh", "hhabcdf", "hhabcdef"}) {
    const auto error = error_of(Dataset::fixed_length_records({file_of(text)}, options));
    ASSERT_TRUE(error) << text;
    EXPECT_EQ(error->kind(), ErrorKind::kDataLoss) << text;
    EXPECT_THAT(error->message(), HasSubstr("the file ends within ")) << text;
  }
  EXPECT_EQ(error_of(Dataset::fixed_length_records({file_of("abcd")}, {.record_bytes = 3}))->kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(error_of(Dataset::fixed_length_records({folder_ / "none"}, {.record_bytes = 3}))->kind(), ErrorKind::kNotFound);
}

TEST_F(RecordFiles, OptionsOutOfRangeAreRefused) {
  EXPECT_EQ(raised([] { return Dataset::tf_records({}); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::tf_records({"a"}, {.record_bytes_max = 0}); })->kind(),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::fixed_length_records({"a"}, {}); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::fixed_length_records({"a"}, {.record_bytes = 1, .header_bytes = -1}); })->kind(),
            ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::data
