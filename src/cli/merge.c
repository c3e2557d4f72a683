/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

int command_merge(const cli_options *options)
{
    mvf_merge_options merge_options;
    mvf_merge_options_init(&merge_options);
    merge_options.overwrite = options->overwrite;
    merge_options.logger = message_logger();
    mvf_status status = MVF_OK;
    for (size_t i = 0; i < options->n_inputs && status == MVF_OK; i++)
        status = run_spare_input(options->inputs[i], options->output);
    if (status == MVF_OK)
        status =
            mvf_merge_shards(options->inputs, options->n_inputs, options->output, &merge_options);
    if (status == MVF_OK)
        return EXIT_ALL_FRAMES;
    /* Shards that do not make up a run are no mistake of the command line. */
    return status == MVF_ERROR_ARGUMENT ? EXIT_FAILED : message_exit_status(status);
}
