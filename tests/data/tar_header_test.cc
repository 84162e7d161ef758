// SPDX-License-Identifier: Apache-2.0
// Headers of tar archives, made by hand: every kind of number, checksum and pax record.
#include "tar_header.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tar_blocks.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

TarBlock block_of(const TarFields& fields) {
  TarBlock block;
  std::memcpy(block.data(), tar_block(fields).data(), block.size());
  return block;
}
Result<TarHeader> parse(const TarFields& fields) { return parse_tar_header(block_of(fields)); }
std::string error_of(const TarFields& fields) {
  const auto header = parse(fields);
  return header ? "none" : header.error().message();
}

TEST(TarHeader, NamesAndSizesAreThoseOfTheFields) {
  EXPECT_EQ(parse({.name = "a.txt", .size = "00000000017"})->name, "a.txt");
  EXPECT_EQ(parse({.name = "a.txt", .size = "00000000017"})->bytes, 15U);
  const std::string full(100, 'n'), prefix(155, 'p');
  EXPECT_EQ(parse({.name = full, .prefix = prefix})->name, prefix + "/" + full);
  EXPECT_EQ(parse({.name = "a", .prefix = "p", .magic = "ustar  "})->name, "a") << "GNU tar has other things there";
  EXPECT_EQ(parse({.name = "a", .prefix = "p", .magic = ""})->name, "a") << "Version 7 had no prefix";
}

TEST(TarHeader, SizesAreOctalOrOfBase256) {
  const auto size = [](std::string text) { return parse({.size = std::move(text)})->bytes; };
  EXPECT_EQ(size(""), 0U);
  EXPECT_EQ(size("     12 "), 10U);
  EXPECT_EQ(size("777777777777"), (uint64_t(1) << 36) - 1) << "twelve digits without an end";
  EXPECT_EQ(size(std::string("7\0x", 3)), 7U);
  EXPECT_EQ(size(std::string("\x80\0\0\0\0\0\0\x02\0\0\0\x01", 12)), (uint64_t(1) << 33) + 1);
  EXPECT_EQ(size(std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12)), uint64_t(INT64_MAX));
  for (const std::string& text : {std::string("8"), std::string("-1"), std::string("1 1"), std::string("0x1"),
                                  std::string("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12),
                                  std::string("\x80\x01\0\0\0\0\0\0\0\0\0\0", 12), std::string(12, '\xff')}) {
    EXPECT_EQ(error_of({.size = text}), "the size in its header is no number") << text;
    EXPECT_EQ(parse({.size = text, .type = '5'})->bytes, 0U) << "a folder has no contents, whatever its size says";
  }
}

TEST(TarHeader, ChecksumsAreOfBytesWithOrWithoutSigns) {
  TarBlock block = block_of({.name = "\xe4.txt"});
  EXPECT_TRUE(parse_tar_header(block));
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i) sum += i >= 148 && i < 156 ? ' ' : int8_t(block[i]);
  std::snprintf(block.data() + 148, 8, "%06llo", static_cast<unsigned long long>(sum));
  EXPECT_TRUE(parse_tar_header(block));
  for (size_t i = 0; i < block.size(); ++i) {
    TarBlock damaged = block;
    damaged[i] = char(damaged[i] ^ 1);
    if (i == 155) continue;  // It stands behind the end of the checksum.
    EXPECT_FALSE(parse_tar_header(damaged)) << i;
  }
  EXPECT_THAT(parse_tar_header(TarBlock{'x'}).error().message(), HasSubstr("or no tar archive"));
  EXPECT_TRUE(is_zero_block(TarBlock{}));
  EXPECT_FALSE(is_zero_block(TarBlock{'x'}));
}

TEST(TarHeader, TypesAreTold) {
  const auto kind = [](char type) { return parse({.type = type})->kind; };
  EXPECT_EQ(kind('0'), TarKind::kFile);
  EXPECT_EQ(kind('7'), TarKind::kFile);
  EXPECT_EQ(kind('\0'), TarKind::kOldFile);
  EXPECT_EQ(kind('1'), TarKind::kHardLink);
  for (const char type : {'2', '3', '4', '5', '6'}) EXPECT_EQ(kind(type), TarKind::kNoContents) << type;
  EXPECT_EQ(kind('S'), TarKind::kSparse);
  EXPECT_EQ(kind('x'), TarKind::kPax);
  EXPECT_EQ(kind('X'), TarKind::kPax);
  EXPECT_EQ(kind('g'), TarKind::kGlobalPax);
  EXPECT_EQ(kind('L'), TarKind::kLongName);
  EXPECT_EQ(kind('K'), TarKind::kLongLink);
  for (const char type : {'V', 'M', 'D', 'A', '9'}) EXPECT_EQ(kind(type), TarKind::kOther) << type;
}

TEST(PaxHeader, HasPathAndSize) {
  PaxValues values;
  ASSERT_TRUE(parse_pax("", values));
  EXPECT_FALSE(values.path || values.bytes || values.is_sparse);
  ASSERT_TRUE(parse_pax("20 mtime=1700000000\n14 path=a\nb=c\n5 a=\n19 size=8589934592\n", values));
  EXPECT_EQ(values.path, "a\nb=c");
  EXPECT_EQ(values.bytes, uint64_t(1) << 33);
  EXPECT_FALSE(values.is_sparse);
  ASSERT_TRUE(parse_pax("22 GNU.sparse.major=1\n", values));
  EXPECT_TRUE(values.is_sparse);
}

TEST(PaxHeader, DamageIsRefused) {
  for (const std::string text : {"6", "6 ", "6 a=b", "7 a=b\n", "5 a=b\n", "0 a=b\n", "2 a=b\n", "6 a=b\n6", "6 abc\n",
                                 " a=b\n", "-6 a=b\n", "+6 a=b\n", "6 a=bc", "99999999999999999999 a=b\n", "9 size=x\n",
                                 "8 size=\n", "28 size=9223372036854775808\n", "11 size=-1\n"}) {
    PaxValues values;
    const auto parsed = parse_pax(text, values);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(parsed.error().message(), HasSubstr("its pax header is damaged: ")) << text;
  }
  PaxValues values;
  EXPECT_THAT(parse_pax("65549 path=" + std::string(65537, 'x') + "\n", values).error().message(),
              HasSubstr("more than 64 KiB"));
}

/// What the writer makes is what the reader finds, for names of all lengths.
TEST(TarHeader, ComesBack) {
  for (size_t size = 1; size < 400; ++size) {
    for (const size_t slash :
         {size_t(0), size_t(1), size_t(50), size_t(99), size_t(100), size_t(101), size_t(155), size_t(156), size_t(200)}) {
      std::string name(size, 'n');
      if (slash + 1 < size) name[slash] = '/';
      const std::string header = encode_tar_header(name, size);
      ASSERT_EQ(header.size() % kTarBlockBytes, 0U);
      TarBlock block;
      std::memcpy(block.data(), header.data(), block.size());
      const TarHeader first = value_or_raise(parse_tar_header(block));
      if (header.size() == kTarBlockBytes) {
        EXPECT_EQ(first.name, name);
        EXPECT_EQ(first.bytes, size);
        continue;
      }
      ASSERT_EQ(first.kind, TarKind::kPax);
      EXPECT_TRUE(size > 100 && (slash == 0 || slash > 155 || size - slash > 101 || slash + 1 >= size))
          << size << " " << slash;
      PaxValues values;
      ASSERT_TRUE(parse_pax(std::string_view(header).substr(kTarBlockBytes, first.bytes), values));
      EXPECT_EQ(values.path, name);
    }
  }
}

}  // namespace
}  // namespace shoal::data
