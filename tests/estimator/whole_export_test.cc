// SPDX-License-Identifier: Apache-2.0
// An export is loaded whole or not at all, wherever it lies (CONTRACT EST-13): checksums, older exports, other storages,
// memory, mixtures of two exports, folders that disappear during the read.
#include "exported_classifier.h"
#include "model/export_format.h"
#include "shoal/testing/forwarding_storage.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHelp[] = "copy the export again from where it is whole, or export the model again";

struct WholeExport : ExportedClassifier {
  WholeExport() { write_file(place.folder / "words.txt", "low\nhigh\n"); }
  std::string write() {
    return ExportedClassifier::write({.assets = {{"vocabulary/words.txt", place.folder / "words.txt"}}});
  }
};

/// The files of an export as text, by their names in its folder.
using Files = std::map<std::string, std::string>;
Files files_of(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path().string().substr(folder.size() + 1)] = read_file(entry.path());
  }
  return files;
}
ExportBytes bytes_of(const Files& files) {
  ExportBytes bytes;
  for (const auto& [name, text] : files) bytes[name] = std::as_bytes(std::span(text));
  return bytes;
}
Error error_of(const Files& files) {
  const auto loaded = try_load_exported_model(bytes_of(files), kReference);
  return loaded ? Error(ErrorKind::kInternal, "loaded") : loaded.error();
}
/// Checks an error about the file `name`: it has to name the file and give advice. Returns a complaint; "" for none.
std::string complaint(const Error& error, const std::string& name) {
  const std::string own = name.substr(name.rfind('/') + 1);
  const bool good = error.kind() == ErrorKind::kDataLoss && error.message().find(own) != std::string::npos &&
                    error.message().find(kHelp) != std::string::npos;
  return good ? "" : std::string(to_string(error.kind())) + ": " + error.message();
}

TEST_F(WholeExport, ListsEachFileWithItsChecksum) {
  const std::string folder = write();
  const ExportDescription description = value_or_raise(decode_export(read_file(folder + "/export.json")));
  ASSERT_TRUE(description.files);
  std::vector<std::string> listed{"export.json"}, there;
  for (const ExportedFile& file : *description.files) listed.push_back(file.name);
  for (const auto& [name, text] : files_of(folder)) there.push_back(name);
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, there);
  EXPECT_EQ(there.size(), 6u);
}

/// Flips one bit of each byte, a different one for each of eight neighbouring bytes.
TEST_F(WholeExport, AFlippedBitIsAnErrorThatNamesTheFile) {
  const Files whole = files_of(write());
  ASSERT_EQ(error_of(whole).message(), "loaded");
  size_t count = 0;
  for (const auto& [name, text] : whole) {
    Files flipped = whole;
    std::string& bytes = flipped[name];
    for (size_t i = 0; i < bytes.size(); ++i, ++count) {
      const char before = bytes[i];
      bytes[i] = char(bytes[i] ^ (1 << (i % 8)));
      ASSERT_EQ(complaint(error_of(flipped), name), "") << name << " byte " << i;
      bytes[i] = before;
    }
  }
  EXPECT_GT(count, 5000u);
}

/// Tries each other value of a byte in the parts of export.json that say whether it has a checksum.
TEST_F(WholeExport, NoByteOfTheMarksMakesAnOlderExportOfIt) {
  const Files whole = files_of(write());
  Files changed = whole;
  std::string& text = changed["export.json"];
  const size_t list = text.find("\"files\"");
  ASSERT_NE(list, std::string::npos);
  for (const auto& [begin, end] : {std::pair<size_t, size_t>(0, 16), {29, 33}, {list, list + 9}}) {
    for (size_t i = begin; i < end; ++i) {
      const char before = text[i];
      for (int value = 0; value < 256; ++value) {
        if (char(value) == before) continue;
        text[i] = char(value);
        ASSERT_EQ(complaint(error_of(changed), "export.json"), "") << "byte " << i << " is " << value;
      }
      text[i] = before;
    }
  }
}

TEST_F(WholeExport, ACutOrGrownFileIsAnErrorThatNamesIt) {
  const Files whole = files_of(write());
  for (const auto& [name, text] : whole) {
    Files other = whole;
    const size_t step = std::max<size_t>(1, text.size() / 100);
    for (size_t bytes = 0; bytes < text.size(); bytes += step) {
      other[name] = text.substr(0, bytes);
      ASSERT_EQ(complaint(error_of(other), name), "") << name << " of " << bytes << " bytes";
    }
    other[name] = text + "\n";
    EXPECT_EQ(complaint(error_of(other), name), "") << name;
  }
}

TEST_F(WholeExport, AMissingFileIsAnErrorThatNamesIt) {
  const Files whole = files_of(write());
  for (const auto& [name, text] : whole) {
    Files others = whole;
    others.erase(name);
    const Error error = error_of(others);
    if (name == "export.json") {
      EXPECT_EQ(error.kind(), ErrorKind::kNotFound);
      EXPECT_THAT(error.message(), AllOf(HasSubstr("no file is called export.json"), HasSubstr("graph.json")));
    } else {
      EXPECT_EQ(complaint(error, name), "");
      EXPECT_THAT(error.message(), HasSubstr("the file is missing"));
    }
  }
}

/// A newer export is copied into the folder of an older one, and the copy stops halfway.
TEST_F(WholeExport, AMixtureOfTwoExportsIsNoModel) {
  const Files older = files_of(write());
  estimator.train([] { return named().repeat().batch(4); }, {.steps = 7});
  const Files newer = files_of(write());
  ASSERT_NE(older.at("export.json"), newer.at("export.json"));
  int mixtures = 0;
  for (const auto& [name, text] : newer) {
    if (older.contains(name) && older.at(name) == text) continue;  // The graph, the assets.
    Files mixture = older;
    mixture[name] = text;
    if (!older.contains(name)) continue;  // A file that the older export does not list is not read.
    EXPECT_EQ(error_of(mixture).kind(), ErrorKind::kDataLoss) << name;
    ++mixtures;
  }
  EXPECT_EQ(mixtures, 2);
}

TEST_F(WholeExport, TheSameInAFolder) {
  const std::string folder = write();
  for (const auto& [name, text] : files_of(folder)) {
    std::string flipped = text;
    flipped[text.size() / 2] ^= 1;
    write_file(folder + "/" + name, flipped);
    EXPECT_THAT(refusal([&] { load_exported_model(folder, kReference); }, ErrorKind::kDataLoss),
                AllOf(HasSubstr(folder), HasSubstr(name.substr(name.rfind('/') + 1)), HasSubstr(kHelp)));
    write_file(folder + "/" + name, text);
  }
  load_exported_model(folder, kReference);
}

// Older exports.

/// An export that a version before 2026-11-27 wrote, of the model of docs/tutorial.md.
TEST(OlderExport, WithoutChecksumsPredictsAsItDid) {
  const auto model = load_exported_model(SHOAL_TEST_DATA "/export_before_checksums", kReference);
  EXPECT_EQ(model->global_step(), 60);
  const data::TensorMap predictions = model->predict({{"area", Tensor::of<float>({3}, {111, 28, 106})},
                                                      {"balcony", Tensor::of_strings({3}, {"no", "no", "no"})},
                                                      {"district", Tensor::of_strings({3}, {"harbour", "south", "south"})},
                                                      {"rent", Tensor::of<float>({3}, {1313, 286, 695})},
                                                      {"rooms", Tensor::of<float>({3}, {-1, 1, 4})}});
  const auto logits = floats(*predictions.find("logits"));
  EXPECT_NEAR(logits[1], 1.0613521, 1e-4);
  EXPECT_NEAR(logits[2], 0.9221382, 1e-4);
  EXPECT_EQ(predictions.find("classes")->strings()[1], "yes");
}

TEST_F(WholeExport, OlderExportsAreWrittenAgainAsTheyWere) {
  const std::string path = SHOAL_TEST_DATA "/export_before_checksums/export.json";
  const ExportDescription description = value_or_raise(decode_export(read_file(path)));
  EXPECT_FALSE(description.files);
  EXPECT_EQ(encode_export(description), read_file(path));
}

// Sources of an export.

TEST_F(WholeExport, LoadsFromMemoryWhatIsGoneFromDisk) {
  const std::string folder = write();
  const auto expected = bits(load_exported_model(folder, kReference)->predict(features(3)));
  Files files = files_of(folder);
  std::filesystem::remove_all(folder);
  auto model = load_exported_model(bytes_of(files), kReference);
  files.clear();  // The bytes are not read again.
  EXPECT_EQ(bits(model->predict(features(3))), expected);
  EXPECT_EQ(model->global_step(), 7);
}

TEST_F(WholeExport, NamesInMemoryMayBeThoseOfAnArchive) {
  Files files;
  for (const auto& [name, text] : files_of(write())) files["./" + name] = text;
  EXPECT_EQ(load_exported_model(bytes_of(files), kReference)->global_step(), 7);
  EXPECT_THAT(refusal([] { load_exported_model(ExportBytes(), kReference); }, ErrorKind::kNotFound),
              HasSubstr("there are: none"));
}

/// A storage of the program's own, which counts the files that are opened, and acts at one of these calls.
class CountingStorage final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (opened++ == at && act) {
      if (Result<void> acted = act(); !acted) return std::move(acted).error();
    }
    return ForwardingStorage::open(path);
  }
  Result<std::vector<FileInfo>> list(const std::string&) override { return changed(); }
  Result<std::unique_ptr<WritableFile>> create(const std::string&) override { return changed(); }
  Result<void> rename(const std::string&, const std::string&) override { return changed(); }
  Result<void> remove(const std::string&) override { return changed(); }
  Result<void> remove_all(const std::string&) override { return changed(); }
  Result<void> make_folders(const std::string&) override { return changed(); }

  int opened = 0;
  int at = -1;
  std::function<Result<void>()> act;

 private:
  static Error changed() {
    ADD_FAILURE() << "loading only opens files";
    return {ErrorKind::kInternal, "not expected"};
  }
};

TEST_F(WholeExport, LoadsFromAStorageOfTheCallers) {
  const std::string folder = write();
  const auto expected = bits(load_exported_model(folder, kReference)->predict(features(3)));
  std::unique_ptr<ExportedModel> model;
  int opened = 0;
  {
    CountingStorage storage(make_file_storage());
    model = load_exported_model(storage, folder, kReference);
    opened = storage.opened;
  }
  EXPECT_EQ(bits(model->predict(features(3))), expected);
  for (int at = 0; at < opened; ++at) {
    CountingStorage storage(make_file_storage());
    storage.at = at;
    storage.act = []() -> Result<void> { return unavailable("read: Input/output error"); };
    EXPECT_THAT(refusal([&] { load_exported_model(storage, folder, kReference); }, ErrorKind::kUnavailable),
                AllOf(HasSubstr(folder), HasSubstr("Input/output error")))
        << "call " << at << " of " << opened;
  }
}

/// The folder may also be replaced by another export: then the model is one of the two, or there is an error.
TEST_F(WholeExport, AFolderThatGoesWhileItIsLoadedIsAModelOrAnError) {
  const std::string older = write();
  const auto of_older = bits(load_exported_model(older, kReference)->predict(features(3)));
  estimator.train([] { return named().repeat().batch(4); }, {.steps = 7});
  const std::string newer = write();
  ASSERT_NE(bits(load_exported_model(newer, kReference)->predict(features(3))), of_older);
  for (const bool replaces : {false, true}) {
    int loaded = 0, refused = 0;
    for (int at = 0; at < 12; ++at) {
      const std::string folder = place.folder / ("copy" + std::to_string(at) + (replaces ? "b" : "a"));
      std::filesystem::copy(older, folder, std::filesystem::copy_options::recursive);
      CountingStorage storage(make_file_storage());
      storage.at = at;
      storage.act = [&]() -> Result<void> {
        std::filesystem::remove_all(folder);
        if (replaces) std::filesystem::copy(newer, folder, std::filesystem::copy_options::recursive);
        return {};
      };
      const auto model = try_load_exported_model(storage, folder, kReference);
      if (model) {
        ++loaded;
        const bool is_newer = (*model)->global_step() == 14;
        EXPECT_TRUE(is_newer ? replaces && at == 0 : bits((*model)->predict(features(3))) == of_older) << at;
      } else {
        ++refused;
        EXPECT_TRUE(model.error().kind() == ErrorKind::kDataLoss || (at == 0 && !replaces)) << model.error().message();
        EXPECT_THAT(model.error().message(), HasSubstr(folder));
      }
    }
    EXPECT_GT(loaded, 0);
    EXPECT_GT(refused, 0);
  }
}

}  // namespace
}  // namespace shoal::testing
