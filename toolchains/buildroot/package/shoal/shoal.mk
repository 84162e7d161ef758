################################################################################
#
# shoal
#
################################################################################

# SPDX-License-Identifier: Apache-2.0
# NOT TRIED: Buildroot reads this recipe, and nobody has built an image with it.

# The tree that this folder belongs to, without builds that lie in it.
SHOAL_VERSION = 0.1.0
SHOAL_SITE = $(BR2_EXTERNAL_SHOAL_PATH)/../..
SHOAL_SITE_METHOD = local
SHOAL_OVERRIDE_SRCDIR_RSYNC_EXCLUSIONS = --exclude "/build*"
SHOAL_LICENSE = Apache-2.0
SHOAL_LICENSE_FILES = LICENSE
SHOAL_INSTALL_STAGING = YES

# Of flatbuffers the host has the compiler, flatc, and the target the headers.
# Both are one package, so their versions agree, which Shoal insists on.
SHOAL_DEPENDENCIES = \
	host-flatbuffers \
	boost \
	flatbuffers \
	json-for-modern-cpp \
	protozero \
	xxhash

# oneDNN is not in Buildroot, and computes on
# 64-bit processors only.
SHOAL_CONF_OPTS = \
	-DSHOAL_FLATC=$(HOST_DIR)/bin/flatc \
	-DSHOAL_EXAMPLES=OFF \
	-DSHOAL_ONEDNN=OFF \
	-DSHOAL_TESTS=OFF \
	-DCMAKE_UNITY_BUILD=ON \
	-DCMAKE_UNITY_BUILD_BATCH_SIZE=10

ifeq ($(BR2_PACKAGE_LIBOPENSSL),y)
SHOAL_DEPENDENCIES += openssl
SHOAL_CONF_OPTS += -DSHOAL_TLS=ON
else
SHOAL_CONF_OPTS += -DSHOAL_TLS=OFF
endif

ifeq ($(BR2_PACKAGE_ZLIB),y)
SHOAL_DEPENDENCIES += zlib
SHOAL_CONF_OPTS += -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=OFF
else
SHOAL_CONF_OPTS += -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
endif

# Compressed files and pictures.
ifeq ($(BR2_PACKAGE_ZSTD),y)
SHOAL_DEPENDENCIES += zstd
SHOAL_CONF_OPTS += -DSHOAL_ZSTD=ON
else
SHOAL_CONF_OPTS += -DSHOAL_ZSTD=OFF
endif

ifeq ($(BR2_PACKAGE_LZ4),y)
SHOAL_DEPENDENCIES += lz4
SHOAL_CONF_OPTS += -DSHOAL_LZ4=ON
else
SHOAL_CONF_OPTS += -DSHOAL_LZ4=OFF
endif

ifeq ($(BR2_PACKAGE_JPEG),y)
SHOAL_DEPENDENCIES += jpeg
SHOAL_CONF_OPTS += -DSHOAL_JPEG=ON
else
SHOAL_CONF_OPTS += -DSHOAL_JPEG=OFF
endif

ifeq ($(BR2_PACKAGE_LIBPNG),y)
SHOAL_DEPENDENCIES += libpng
SHOAL_CONF_OPTS += -DSHOAL_PNG=ON
else
SHOAL_CONF_OPTS += -DSHOAL_PNG=OFF
endif

$(eval $(cmake-package))
