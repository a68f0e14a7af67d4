/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_OUTPUT_FINDINGS_H
#define ALLOCFILT_OUTPUT_FINDINGS_H

#include "allocfilt/output.h"

/** findings_text, findings_json - what --verify found: see output_ops.findings */
void findings_text(struct writer *writer, const char *path, const struct verify_findings *findings);
void findings_json(struct writer *writer, const char *path, const struct verify_findings *findings);

#endif
