// SPDX-License-Identifier: Apache-2.0
// The rows of NPY files, against the whole arrays that read_npy() reads, and against NumPy.
#include <gmock/gmock.h>

#include "arrays_text.h"
#include "collecting.h"
#include "other_programs.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NpyRows : public ::testing::Test {
 protected:
  std::vector<std::string> texts(const Dataset& dataset) {
    std::vector<std::string> result;
    for (const Element& element : dataset.elements()) result.push_back(array_text(element.features.single()));
    return result;
  }
  std::optional<Error> error_of(const Dataset& dataset) {
    return raised([&] { texts(dataset); });
  }
  std::string file(const std::string& name, const std::string& contents) {
    write_file(folder_ / name, contents);
    return folder_ / name;
  }
  TemporaryFolder folder_;
  const std::unique_ptr<Storage> storage_ = make_file_storage();
};

TEST_F(NpyRows, ComeFileByFile) {
  const std::string a = file("a", npy_of("|u1", "(3, 2)", "abcdef")), none = file("none", npy_of("|u1", "(0, 2)", "")),
                    b = file("b", npy_of("|u1", "(1, 2)", "gh"));
  const Dataset dataset = Dataset::npy_rows({a, none, b});
  EXPECT_THAT(texts(dataset), ElementsAre("uint8 [2] 97 98", "uint8 [2] 99 100", "uint8 [2] 101 102", "uint8 [2] 103 104"));
  EXPECT_THAT(texts(dataset.skip(2)), ElementsAre("uint8 [2] 101 102", "uint8 [2] 103 104"));
  EXPECT_THAT(texts(dataset.shard(2, 1)), ElementsAre("uint8 [2] 99 100", "uint8 [2] 103 104"));
  EXPECT_EQ(texts(dataset.repeat(2)).size(), 8U);
  EXPECT_THAT(texts(Dataset::npy_rows({file("s", npy_of("<i2", "(2,)", std::string("\1\0\xff\xff", 4)))})),
              ElementsAre("int32 [] 1", "int32 [] -1"));
  EXPECT_THAT(texts(Dataset::npy_rows({file("t", npy_of("|S3", "(2, 1)", std::string("ab\0cde", 6)))})),
              ElementsAre("string [1] 6162", "string [1] 636465"));
}

/// Each array of NumPy's with rows, row by row: the rows make up the array.
TEST_F(NpyRows, MakeUpTheArraysOfNumPy) {
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy writes the files";
  int compared = 0;
  for (const auto& [path, text] : named_lines(output_of(python("numpy_arrays.py") + "write " + (folder_ / "")))) {
    const Tensor whole = value_or_raise(read_npy(*storage_, path));
    const Dataset dataset = Dataset::npy_rows({path});
    if (whole.shape().rank() == 0 || (whole.elements() == 0 && whole.shape()[0] > 0)) {
      EXPECT_EQ(error_of(dataset)->kind(), ErrorKind::kFailedPrecondition);
      continue;
    }
    if (whole.shape().rank() > 1 && contents_of(path).substr(0, 128).find("'fortran_order': True") != std::string::npos) {
      EXPECT_THAT(error_of(dataset)->message(), AllOf(HasSubstr(path), HasSubstr("ascontiguousarray")));
      continue;
    }
    std::vector<std::string> expected;
    for (const Element& row : Dataset::from_tensor_slices(whole).elements())
      expected.push_back(array_text(row.features.single()));
    EXPECT_TRUE(texts(dataset) == expected) << path << " " << text.substr(0, 200);
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST_F(NpyRows, GoOnFromEveryPosition) {
  const Dataset dataset = Dataset::npy_rows({file("a", npy_of("<f8", "(2, 1)", std::string(16, '\0'))),
                                             file("b", npy_of("<f4", "(3, 1)", std::string(12, 'x')))});
  const std::vector<std::string> all = texts(dataset);
  const auto env = make_production_environment({});
  const auto iterator = open(dataset, *env);
  Element element;
  for (size_t i = 0; i <= all.size(); ++i) {
    const auto other = open(dataset, *env);
    ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
    std::vector<std::string> rest;
    while (value_or_raise(other->next(element))) rest.push_back(array_text(element.features.single()));
    EXPECT_EQ(rest, std::vector<std::string>(all.begin() + ptrdiff_t(i), all.end()));
    ASSERT_EQ(value_or_raise(iterator->next(element)), i < all.size());
  }
}

TEST_F(NpyRows, APositionOfAFileThatChangedIsRefused) {
  const std::string path = file("a", npy_of("|u1", "(4, 2)", "abcdefgh"));
  const Dataset dataset = Dataset::npy_rows({path});
  const auto env = make_production_environment({});
  const auto iterator = open(dataset, *env);
  Element element;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(value_or_raise(iterator->next(element)));
  const Position position = value_or_raise(iterator->save());
  for (const std::string& other : {npy_of("|u1", "(1, 2)", "ab"), npy_of("|u1", "(2, 4)", "abcdefgh")}) {
    write_file(path, other);
    const auto again = open(dataset, *env);
    EXPECT_EQ(again->restore(position).error().kind(), ErrorKind::kFailedPrecondition);
  }
}

TEST_F(NpyRows, MustBeAlike) {
  const std::string a = file("a", npy_of("|u1", "(1, 2)", "ab"));
  for (const std::string& other :
       {npy_of("|u1", "(1, 3)", "abc"), npy_of("|b1", "(1, 2)", std::string(2, '\0')), npy_of("|u1", "(2,)", "ab")}) {
    const auto error = error_of(Dataset::npy_rows({a, file("b", other)}));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(error->message(),
                AllOf(HasSubstr((folder_ / "b") + " has rows of"), HasSubstr(a + " has rows of uint8 [2]")));
  }
  // Types of NumPy that are one type here.
  EXPECT_EQ(
      texts(Dataset::npy_rows({file("i", npy_of("<i2", "(1,)", "ab")), file("j", npy_of(">i4", "(1,)", "abcd"))})).size(),
      2U);
}

TEST_F(NpyRows, DamageNamesFileAndPlace) {
  const std::string whole = npy_of("|b1", "(3, 2)", std::string("\0\1\1\0\0\2", 6));
  const std::string path = file("a", whole);
  EXPECT_THAT(error_of(Dataset::npy_rows({path}))->message(),
              AllOf(HasSubstr(path + ", record 3 (offset "), HasSubstr("element 5"), HasSubstr("a bool is 0 or 1")));
  EXPECT_EQ(texts(Dataset::npy_rows({path}).take(2)).size(), 2U);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto error = error_of(Dataset::npy_rows({file("a", whole.substr(0, size))}).take(2));
    ASSERT_TRUE(error) << size;
    EXPECT_EQ(error->kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(error->message(), HasSubstr(path));
  }
  EXPECT_THAT(error_of(Dataset::npy_rows({file("a", whole + "x")}).take(1))->message(),
              HasSubstr("goes on behind its array"));
  EXPECT_EQ(error_of(Dataset::npy_rows({file("a", whole)}, {.row_bytes_max = 1}))->kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(texts(Dataset::npy_rows({file("a", whole)}, {.row_bytes_max = 2}).take(2)).size(), 2U);
  EXPECT_EQ(error_of(Dataset::npy_rows({folder_ / "none"}))->kind(), ErrorKind::kNotFound);
  EXPECT_EQ(raised([] { return Dataset::npy_rows({}); })->kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(raised([] { return Dataset::npy_rows({"a"}, {.row_bytes_max = 0}); })->kind(), ErrorKind::kInvalidArgument);
}

TEST_F(NpyRows, MayBeCompressed) {
  if (!is_installed("gzip")) GTEST_SKIP() << "gzip is not installed: it makes the file";
  const auto packed = [&](const std::string& contents) {
    file("a", contents);
    output_of("gzip -c " + (folder_ / "a") + " > " + (folder_ / "a.gz"));
    return Dataset::npy_rows({folder_ / "a.gz"});
  };
  EXPECT_THAT(texts(packed(npy_of("|u1", "(2, 1)", "ab")).skip(1)), ElementsAre("uint8 [1] 98"));
  EXPECT_THAT(error_of(packed(npy_of("|u1", "(2, 1)", "abc")))->message(),
              HasSubstr("goes on behind its array, which ends at offset"));
  EXPECT_THAT(error_of(packed(npy_of("|u1", "(2, 2)", "abc")))->message(), HasSubstr("record 2"));
}

}  // namespace
}  // namespace shoal::data
