#pragma once
/// The differences between oneDNN 2.6 and 3.x that the backend meets; all else of it is version-free. In 2.x an operation
/// is described by a desc and then by a primitive_desc, in 3.x by the latter alone.
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

namespace shoal::backends::onednn {

/// Null (operator bool is false) where oneDNN has no implementation.
template <class Primitive, class... Args>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                            Args&&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, std::forward<Args>(args)..., attributes, true);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(std::forward<Args>(args)...), attributes, engine, true);
#endif
}

/// The same for a backward primitive, whose forward one is the hint.
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

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& type) {
#if DNNL_VERSION_MAJOR >= 3
  return type.get_dims();
#else
  return type.dims();
#endif
}

}  // namespace shoal::backends::onednn
