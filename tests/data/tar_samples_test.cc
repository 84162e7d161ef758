// SPDX-License-Identifier: Apache-2.0
// Samples of tar archives made by hand: what belongs to a sample, positions, damage, and limits.
#include <gmock/gmock.h>

#include "collecting.h"
#include "shoal/base/memory_storage.h"
#include "shoal/base/production.h"
#include "tar_blocks.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "key: extension=contents extension=contents".
std::string line_of(const Element& element) {
  std::string line = element.features["__key__"].strings()[0] + ":";
  for (const auto& [name, tensor] : element.features) {
    if (name != "__key__") line += " " + name + "=" + tensor.strings()[0];
  }
  return line;
}

class TarSamples : public ::testing::Test {
 protected:
  std::vector<std::string> lines(const Dataset& dataset) {
    std::vector<std::string> result;
    const auto iterator = open(dataset, env_);
    for (Element element; value_or_raise(iterator->next(element));) result.push_back(line_of(element));
    return result;
  }
  std::vector<std::string> lines_of(const std::string& archive, TarOptions options = {}) {
    return lines(Dataset::tar_samples({file_of(archive)}, std::move(options)));
  }
  std::string file_of(const std::string& archive, const std::string& name = "a.tar") {
    value_or_raise(env_.storage().write_atomically(name, archive));
    return name;
  }
  Error error_of(const std::string& archive, TarOptions options = {}) {
    const auto error = raised([&] { lines_of(archive, std::move(options)); });
    return error ? *error : internal_error("there is no error");
  }
  const std::string pax_ = tar_entry("PaxHeader", "18 path=long.name\n19 comment=a b c d\n", 'x');

 private:
  VirtualWorld world_{1};

 protected:
  Environment& env_ = world_.add_task({.storage = make_memory_storage()});
};

TEST_F(TarSamples, AreFilesWithOneKey) {
  const std::string archive = tar_entry("d.0/a.jpg", "1") + tar_entry("d.0/a.seg.PNG", "2") + tar_entry("a.jpg", "3") +
                              tar_entry("b.jpg", "4") + tar_entry("b.JPG.x", "5") + tar_entry("a.jpg", "6");
  const std::vector<std::string> expected{"d.0/a: jpg=1 seg.png=2", "a: jpg=3", "b: jpg=4 jpg.x=5", "a: jpg=6"};
  EXPECT_EQ(lines_of(archive + tar_end()), expected);
  EXPECT_EQ(lines_of(archive), expected) << "an archive that just ends";
  EXPECT_EQ(lines_of(archive + std::string(512, '\0')), expected) << "one block of zeros";
  EXPECT_EQ(lines_of(archive + tar_end() + "garbage"), expected);
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of(tar_end()), IsEmpty());
  const Dataset dataset = Dataset::tar_samples({file_of(archive)});
  Element first;
  ASSERT_TRUE(value_or_raise(open(dataset, env_)->next(first)));
  EXPECT_EQ(first.features["jpg"].shape(), Shape{});
  EXPECT_EQ(first.features["jpg"].dtype(), DType::kString);
  EXPECT_EQ(lines(Dataset::tar_samples({file_of(tar_entry("a.x", "1")), file_of(tar_entry("a.y", "2"), "b.tar")})),
            (std::vector<std::string>{"a: x=1", "a: y=2"}))
      << "a sample ends with its archive";
}

TEST_F(TarSamples, HaveNoOtherEntries) {
  std::string archive = tar_entry("a.x", "1");
  for (const char* name : {"none", ".hidden.x", "d/.hidden.x", "d.x/none", "d/", "a.", "", ".", "..", "__meta__.x__",
                           "__index__/b.x", "____/b.x"})
    archive += tar_entry(name, "no");
  for (const char type : {'1', '2', '3', '4', '5', '6'})
    archive += tar_block({.name = "b.x", .size = "00000000700", .type = type});
  for (const char type : {'V', 'M', 'D'}) archive += tar_entry("b.x", "no", type);
  archive += tar_block({.name = "b.x/", .size = "00000000700", .type = '\0'});  // A folder, as Version 7 had them.
  archive += tar_entry("a.y", "2", '\0') + tar_entry("a.z", "3", '7') + tar_entry("__a.x", "4");
  EXPECT_THAT(lines_of(archive), ElementsAre("a: x=1 y=2 z=3", "__a: x=4"));
}

/// tar makes a hard link of the second name of a file, so that a sample may lack a member that its folder had.
TEST_F(TarSamples, WarnOfHardLinks) {
  const std::string archive = tar_entry("a.x", "1") + tar_block({.name = "b.x", .type = '1'}) + tar_entry("b.y", "2") +
                              tar_block({.name = "c.x", .type = '2'});
  std::vector<std::string> warnings;
  const auto storage = std::shared_ptr<Storage>(make_memory_storage());
  value_or_raise(storage->write_atomically("a.tar", archive));
  const auto told = make_production_environment(
      {.sink = [&](const LogRecord& record) { warnings.emplace_back(record.message); }, .storage = storage});
  const auto iterator = value_or_raise(Dataset::tar_samples({"a.tar"}).repeat(2).iterate(*told));
  for (Element element; value_or_raise(iterator->next(element));) {
  }
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("a.tar: \"b.x\" is another name of a file in the archive (a hard link)"),
                                          HasSubstr("tar --hard-dereference"))));
}

TEST_F(TarSamples, LongNamesComeBeforeTheirEntries) {
  const std::string name = std::string(200, 'n') + ".x";
  const std::string link = tar_entry("././@LongLink", std::string(300, 'l') + '\0', 'K');
  EXPECT_THAT(lines_of(tar_entry("././@LongLink", name + '\0', 'L') + link + tar_entry("cut", "1") + tar_entry("a.x", "2")),
              ElementsAre(std::string(200, 'n') + ": x=1", "a: x=2"));
  EXPECT_THAT(lines_of(pax_ + tar_entry("cut", "1") + tar_entry("a.x", "2")), ElementsAre("long: name=1", "a: x=2"));
  EXPECT_THAT(lines_of(tar_entry("", "9 size=3\n", 'x') + tar_block({.name = "a.x"}) + "abc" + std::string(509, '\0')),
              ElementsAre("a: x=abc"));
  EXPECT_THAT(lines_of(tar_entry("", "17 comment=hello\n", 'g') + tar_entry("a.x", "1") + tar_entry("", "", 'g')),
              ElementsAre("a: x=1"));
}

TEST_F(TarSamples, OnlyWantedExtensionsAreRead) {
  const std::string archive = tar_entry("a.x", "1") + tar_entry("a.y", "2") + tar_entry("b.y", "3") +
                              tar_entry("c.Y", "4") + tar_entry("c.X", "5") + tar_entry("c.y", "6") + tar_entry("d.z", "7");
  EXPECT_THAT(lines_of(archive, {.extensions = {"x"}}), ElementsAre("a: x=1", "c: x=5"));
  EXPECT_THAT(lines(Dataset::tar_samples({file_of(archive)}, {.extensions = {"x"}}).skip(1)), ElementsAre("c: x=5"));
  EXPECT_THAT(lines_of(archive, {.extensions = {"x", "z"}}), ElementsAre("a: x=1", "c: x=5", "d: z=7"));
  EXPECT_THAT(lines_of(archive, {.extensions = {"none"}}), IsEmpty());
}

TEST_F(TarSamples, GoOnFromEveryPosition) {
  const std::string first = tar_entry("", "17 comment=hello\n", 'g') + tar_entry("a.x", "1") + tar_entry("d", "", '5') +
                            tar_entry("a.y", "2") + tar_entry("none", "") + pax_ + tar_entry("cut", "3") +
                            tar_entry("", "b.x", 'L') + tar_entry("", "4") + tar_entry("none", "5");
  const Dataset all = Dataset::tar_samples(
      {file_of(first), file_of(tar_end(), "none.tar"), file_of(tar_entry("c.x", "6") + tar_entry("d.x", "7"), "b.tar")});
  const Dataset some = Dataset::tar_samples({"a.tar", "b.tar"}, {.extensions = {"x"}});
  for (const Dataset& dataset : {all, some, all.shard(2, 1), all.skip(1).repeat(2)}) {
    const auto iterator = open(dataset, env_);
    const std::vector<std::string> expected = lines(dataset);
    ASSERT_FALSE(expected.empty());
    Element element;
    for (size_t i = 0; i <= expected.size(); ++i) {
      const auto other = open(dataset, env_);
      value_or_raise(other->restore(value_or_raise(iterator->save())));
      std::vector<std::string> rest;
      while (value_or_raise(other->next(element))) rest.push_back(line_of(element));
      EXPECT_EQ(rest, std::vector<std::string>(expected.begin() + ptrdiff_t(i), expected.end()));
      ASSERT_EQ(value_or_raise(iterator->next(element)), i < expected.size());
    }
  }
}

TEST_F(TarSamples, DamageNamesArchiveEntryAndOffset) {
  const std::string whole = tar_entry("a.x", "one") + pax_ + tar_entry("cut", std::string(600, 'x')) + tar_end();
  const auto expected = lines_of(whole);
  const std::string path = "a.tar";
  const auto place_at = [&](size_t at) {
    return at < 1024 ? path + ", entry 1 (offset 0): " : path + ", entry 2 (offset 1024): ";
  };
  for (size_t at = 0; at < whole.size() - 1024; ++at) {
    const bool in_contents = (at >= 512 && at < 1024) || at >= 1024 + 3 * 512;
    for (const int bit : {0, 4, 7}) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ 1 << bit);
      const Error error = error_of(damaged);
      if (error.kind() == ErrorKind::kInternal) {  // No error: tar has no checksums but those of header blocks.
        const bool in_pax = at >= 1024 + 512 && at < 1024 + 1024;
        EXPECT_TRUE(in_contents || in_pax || at % 512 == 148 || at % 512 == 155) << at;  // A blank, or none, is as good.
        continue;
      }
      EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << at;
      EXPECT_THAT(error.message(), HasSubstr(place_at(at))) << at;
    }
    const Error cut = error_of(whole.substr(0, at));
    if (at == 0 || at == 1024) {
      EXPECT_EQ(cut.kind(), ErrorKind::kInternal) << "right between two entries";
      continue;
    }
    EXPECT_EQ(cut.kind(), ErrorKind::kDataLoss) << at;
    EXPECT_THAT(cut.message(), AllOf(HasSubstr(place_at(at)), HasSubstr("end"))) << at;
  }
  for (size_t at = whole.size() - 1024; at < whole.size(); ++at) {
    if (at % 512 == 0) {
      EXPECT_EQ(lines_of(whole.substr(0, at)), expected);
    } else if (at < whole.size() - 512) {
      EXPECT_THAT(error_of(whole.substr(0, at)).message(),
                  HasSubstr("entry 3 (offset 3584): the file ends within a header"));
    }
  }
}

TEST_F(TarSamples, EntriesKeepTheirNumbersInARestoredIterator) {
  const std::string path = file_of(tar_entry("d", "", '5') + tar_entry("a.x", "1") + tar_entry("b.x", "2") +
                                   tar_entry("c.x", "3").substr(0, 100));
  const auto iterator = open(Dataset::tar_samples({path}), env_), other = open(Dataset::tar_samples({path}), env_);
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  value_or_raise(other->restore(value_or_raise(iterator->save())));
  const Error expected = iterator->next(element).error();
  EXPECT_THAT(expected.message(), HasSubstr("a.tar, entry 4 (offset 2560): the file ends within a header"));
  EXPECT_EQ(other->next(element).error(), expected);
}

TEST_F(TarSamples, WhatIsNotReadIsRefused) {
  const auto refused = [this](const std::string& archive, const char* what) {
    const Error error = error_of(archive);
    EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition) << error.message();
    EXPECT_THAT(error.message(), AllOf(HasSubstr("a.tar, entry 1 (offset 0): "), HasSubstr(what)));
  };
  refused(tar_entry("a.x", "1", 'S'), "\"a.x\" is stored without its holes");
  refused(tar_entry("", "22 GNU.sparse.major=1\n", 'x') + tar_entry("a.x", "1"), "\"a.x\" is stored without its holes");
  refused(tar_entry("", "12 path=abc\n", 'g') + tar_entry("a.x", "1"), "a global pax header has a name or a size");
  refused(tar_entry("", "9 size=1\n", 'g') + tar_entry("a.x", "1"), "a global pax header has a name or a size");
}

TEST_F(TarSamples, WhatIsBeyondALimitIsRefused) {
  const auto refused = [this](const std::string& archive, const char* what, TarOptions options = {}) {
    const Error error = error_of(archive, std::move(options));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << error.message();
    EXPECT_THAT(error.message(), HasSubstr(what));
  };
  const std::string two = tar_entry("a.x", "12345") + tar_entry("a.y", "1234");
  refused(two, "entry 1 (offset 0): \"a.x\" has 5 bytes, more than member_bytes_max, 4", {.member_bytes_max = 4});
  refused(two, "entry 2 (offset 1024): the files of its sample up to \"a.y\" have 9 bytes, more than sample_bytes_max, 8",
          {.sample_bytes_max = 8});
  EXPECT_THAT(lines_of(two, {.member_bytes_max = 4, .extensions = {"y"}}), ElementsAre("a: y=1234"));
  EXPECT_THAT(lines_of(two, {.member_bytes_max = 5, .sample_bytes_max = 9}), ElementsAre("a: x=12345 y=1234"));
  refused(tar_entry("", std::string(65537, 'n'), 'L'), "its name has 65537 bytes, more than 65536");
  refused(tar_entry("", std::string(65537, 'n'), 'K'), "its name has 65537 bytes, more than 65536");
  refused(tar_entry("", std::string(1 << 20, 'n') + "n", 'x'), "its pax header has 1048577 bytes, more than 1048576");
  refused(tar_entry("", "65549 path=" + std::string(65537, 'n') + "\n", 'x'), "its name has more than 64 KiB");
  refused(tar_block({.name = "a.x", .size = "77777777777"}), "the file ends within \"a.x\", which has 8589934591 bytes");
  std::string many;
  for (int i = 0; i < 4097; ++i) many += tar_block({.name = "a." + std::to_string(i)});
  refused(many, "entry 4097 (offset 2097152): its sample has more than 4096 files");
}

TEST_F(TarSamples, DisorderIsRefused) {
  const auto message = [this](const std::string& archive) { return error_of(archive).message(); };
  EXPECT_THAT(message(tar_entry("a.x", "1") + tar_entry("a.X", "2")),
              HasSubstr("entry 2 (offset 1024): \"a.X\" is the second file of its sample with the extension \"x\""));
  EXPECT_THAT(message(tar_entry("a.__key__", "1")), HasSubstr("\"a.__key__\" has the extension __key__"));
  for (const std::string& end : {std::string(), tar_end()}) {
    EXPECT_THAT(message(pax_ + end), HasSubstr("entry 1 (offset 0): the archive ends behind an extended header"));
    EXPECT_THAT(message(tar_entry("", "a.x", 'L') + end), HasSubstr("the archive ends behind an extended header"));
  }
  EXPECT_THAT(message("no archive, but a text" + std::string(600, ' ')),
              HasSubstr("a.tar, entry 1 (offset 0): the checksum of its header is wrong"));
  EXPECT_THAT(message("no archive"), HasSubstr("the file ends within a header"));
  EXPECT_THAT(message(tar_entry("\n\xff" + std::string(90, 'n'), "1", 'S')), HasSubstr("\"??nnn"));
  const std::string name = std::string(199, 'n') + "\xc3\xa4.x";
  EXPECT_THAT(message(tar_entry("", name, 'L') + tar_entry("", "1", 'S')), HasSubstr("nnn...\" is stored"));
  EXPECT_EQ(raised([&] { lines(Dataset::tar_samples({"nothing"})); })->kind(), ErrorKind::kNotFound);
}

TEST_F(TarSamples, ErrorsOfFunctionsNameTheSample) {
  const std::string path = file_of(tar_entry("a.x", "one") + tar_entry("b.x", "two"));
  const auto picky = [](Element one) -> Result<Element> {
    if (one.features["x"].strings()[0] == "two") return invalid_argument("not two");
    return one;
  };
  EXPECT_THAT(raised([&] { lines(Dataset::tar_samples({path}).map(picky)); })->message(),
              HasSubstr(path + ", record 2: the function of map: not two"));
}

TEST_F(TarSamples, OptionsOutOfRangeAreRefused) {
  const auto kind = [](std::vector<std::string> paths, TarOptions options) {
    const auto error = raised([&] { return Dataset::tar_samples(std::move(paths), std::move(options)); });
    return error ? error->kind() : ErrorKind::kInternal;
  };
  EXPECT_EQ(kind({}, {}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind({"a"}, {.member_bytes_max = 0}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind({"a"}, {.sample_bytes_max = 0}), ErrorKind::kInvalidArgument);
  for (const char* extension : {"", "JPG", ".jpg", "a/b", "__key__"}) {
    EXPECT_EQ(kind({"a"}, {.extensions = {"png", extension}}), ErrorKind::kInvalidArgument) << extension;
  }
  EXPECT_EQ(kind({"a"}, {.extensions = {"jpg", "seg.png"}}), ErrorKind::kInternal);
}

}  // namespace
}  // namespace shoal::data
