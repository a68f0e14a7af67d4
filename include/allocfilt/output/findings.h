/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FINDINGS_H
#define ALLOCFILT_OUTPUT_FINDINGS_H

#include "allocfilt/verify/verify.h"

/** findings_text, findings_json - write what --verify found; @path: of the capture; 0 or -errno */
int findings_text(struct writer *writer, const char *path, const struct verify_findings *findings);
int findings_json(struct writer *writer, const char *path, const struct verify_findings *findings);

#endif
