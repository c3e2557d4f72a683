/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

/* Prints words up to column `width`, further lines from column `indent` on; the first starts at
 * `column`. */
static void print_wrapped(FILE *file, const char *text, int column, int indent, int width)
{
    int at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > width) {
            fprintf(file, "\n%*s", indent, "");
            column = at = indent;
        } else if (at > column) {
            putc(' ', file);
            at++;
        }
        fprintf(file, "%.*s", length, text);
        at += length;
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', file);
}

enum { WIDTH = 80, HELP_COLUMN = 24 };

static void print_option(const option_text *option)
{
    int column = printf("  --%s%s%s", option->name, option->value ? " " : "",
                        option->value ? option->value : "");
    if (column > HELP_COLUMN - 2)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - column, "");
    print_wrapped(stdout, option->help, HELP_COLUMN, HELP_COLUMN, WIDTH);
}

void help_print(cli_command command)
{
    const command_entry *entry = command_find(command_name(command));
    const char *heading = "";
    option_text option;
    int has_options = options_next(command, -1, &option) >= 0;
    printf("usage: mvfield %s %s%s\n\n", entry->name, has_options ? "[options] " : "",
           entry->operands);
    print_wrapped(stdout, entry->text, 0, 0, WIDTH);
    for (int i = options_next(command, -1, &option); i >= 0;
         i = options_next(command, i, &option)) {
        const char *over = option.heading ? option.heading : "Options";
        if (strcmp(over, heading))
            printf("\n%s:\n", over);
        heading = over;
        print_option(&option);
    }
    if (has_options)
        printf("\nexit status: 0 all frames, 1 failed, 2 wrong usage, 3 finished but the input is\n"
               "damaged, 130 interrupted (the output is complete up to there)\n");
}

void help_print_all(FILE *file)
{
    fprintf(file, "usage: mvfield COMMAND ...\n\n");
    print_wrapped(file,
                  "Turns video into motion vector fields, on a GPU or on the CPU with the same "
                  "bits.",
                  0, 0, WIDTH);
    fprintf(file, "\n");
    for (size_t i = 0; command_at(i); i++)
        fprintf(file, "  mvfield %-10s %s\n", command_at(i)->name, command_at(i)->summary);
    fprintf(file, "\n  mvfield extract clip.mp4 -o clip.csv\n"
                  "  mvfield overlay clip.mp4 -o arrows.mp4\n\n"
                  "mvfield COMMAND --help lists the options; man mvfield tells more.\n");
}
