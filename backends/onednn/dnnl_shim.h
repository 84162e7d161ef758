// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The differences between oneDNN 2.6 and 3.x that matter to the backend. In 2.x an operation is described by a desc and
/// then by a primitive_desc, in 3.x by the latter alone.
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <utility>

namespace shoal::backends::onednn {

/// The first of oneDNN's implementations whose name starts with `preferred`, else its first implementation; null (operator
/// bool is false) if it has none.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe_preferring(std::string_view preferred, const dnnl::engine& engine,
                                                       const dnnl::primitive_attr& attributes, Args&&... args) {
  using Description = typename Primitive::primitive_desc;
#if DNNL_VERSION_MAJOR >= 3
  const Description first(engine, std::forward<Args>(args)..., attributes, true);
#else
  const typename Primitive::desc desc(std::forward<Args>(args)...);  // A variable, since next_impl() below uses desc again.
  const Description first(desc, attributes, engine, true);
#endif
  if (!first) return first;
  Description other = first;
  while (!std::string_view(other.impl_info_str()).starts_with(preferred)) {
    if (!other.next_impl()) return first;
  }
  return other;
}

/// The first of oneDNN's implementations.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                            Args&&... args) {
  return describe_preferring<Primitive>("", engine, attributes, std::forward<Args>(args)...);
}

/// As describe(), for a backward primitive, with the description of the forward one as a hint.
template <class Primitive, class Hint, class... Args>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                     const Hint& forward, Args&&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, std::forward<Args>(args)..., forward, attributes, true);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(std::forward<Args>(args)...), attributes, engine,
                                            forward, true);
#endif
}

/// Whether `type` describes nothing, as the result of submemory_desc() does if there is no such part.
inline bool is_none(const dnnl::memory::desc& type) {
#if DNNL_VERSION_MAJOR >= 3
  return !type || type.is_zero();
#else
  return type.is_zero();
#endif
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& type) {
#if DNNL_VERSION_MAJOR >= 3
  return type.get_dims();
#else
  return type.dims();
#endif
}

}  // namespace shoal::backends::onednn
