#!/bin/sh
# Makes configure and Makefile.in; needed once in a git clone, not in a release.
set -e
cd "$(dirname "$0")"
exec autoreconf --install
