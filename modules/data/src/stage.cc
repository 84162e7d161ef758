#include "stage.h"

namespace shoal::data {

Result<int64_t> Stage::skip(int64_t count) {
  Item item;
  for (int64_t done = 0; done < count; ++done) {
    SHOAL_TRY(const bool more, next(item));
    if (!more) return done;
  }
  return count;
}

RandomKey StageContext::next_random_key(std::optional<int64_t> operation_seed) {
  const uint64_t k = random_operations_++;
  const bool configured = options.seed.has_value();
  if (operation_seed) {  // It is obeyed on every trainer, whatever its place in the pipeline.
    const RandomKey key = configured ? fold_in(RandomKey(*options.seed), "data/both") : fold_in(RandomKey(0), "data/op");
    return fold_in(key, uint64_t(*operation_seed));
  }
  if (const std::optional<int64_t>& seed = configured ? options.seed : options.run_seed) {
    return fold_in(fold_in(fold_in(RandomKey(*seed), "data/trainer"), uint64_t(options.trainer_index)), k);
  }
  if (!fresh_) fresh_ = env.entropy();
  return fold_in(fold_in(*fresh_, "data/fresh"), k);
}

}  // namespace shoal::data
