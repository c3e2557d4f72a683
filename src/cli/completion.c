/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/message.h"

/* The length of the word that a list "a, b (or so) or c" starts with; 0: it is no such list. *next
 * is where the one after it starts. */
static size_t list_word(const char *list, const char **next)
{
    size_t length = strspn(list, "abcdefghijklmnopqrstuvwxyz0123456789");
    const char *at = list + length;
    if (!strncmp(at, " (", 2))
        at += strcspn(at, ")") + 1;
    *next = !*at ? at : !strncmp(at, ", ", 2) ? at + 2 : !strncmp(at, " or ", 4) ? at + 4 : NULL;
    return *next ? length : 0;
}

/* Whether `values` lists the words that are right, two or more, and nothing else. */
static int is_list(const char *values)
{
    int n_words = 0;
    while (values && *values) {
        if (!list_word(values, &values))
            return 0;
        n_words++;
    }
    return n_words > 1;
}

static void print_words(const char *list)
{
    const char *next;
    for (const char *separator = ""; *list; list = next, separator = " ")
        printf("%s%.*s", separator, (int)list_word(list, &next), list);
}

static int takes_file(const option_text *option)
{
    return !strcmp(option->value, "FILE") || !strcmp(option->value, "WHAT");
}

/* The shells of which there is a completion: as what stands before and after the commands. */
static const char bash_start[] =
    "# bash completion of mvfield, made by \"mvfield completion bash\".\n"
    "_mvfield() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} before=\n"
    "    local command=${COMP_WORDS[1]-} options= words=\n"
    "    COMPREPLY=()\n"
    "    # \"=\" stands between two words of its own.\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $option == = && COMP_CWORD -ge 3 ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    [[ $option != -o ]] || option=--output\n";
static const char bash_end[] =
    "    # Several values with commas: the last one is completed.\n"
    "    if [[ $option == --draw && $cur == *,* ]]; then\n"
    "        before=${cur%,*},\n"
    "        cur=${cur##*,}\n"
    "    fi\n"
    "    case $words in\n"
    "    FILE) return ;;\n"
    "    NONE) compopt +o default; return ;;\n"
    "    '') [[ $cur == -* ]] && words=$options || return ;;\n"
    "    esac\n"
    "    compopt +o default\n"
    "    COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -o default -F _mvfield mvfield\n";

static void print_bash_command(const command_entry *entry)
{
    option_text option;
    printf("    %s)\n        options='", entry->name);
    for (int i = options_next(entry->command, -1, &option); i >= 0;
         i = options_next(entry->command, i, &option))
        printf("--%s ", option.name);
    printf("--help'\n        case $option in\n");
    for (int i = options_next(entry->command, -1, &option); i >= 0;
         i = options_next(entry->command, i, &option)) {
        if (!option.value)
            continue;
        printf("        --%s) words='", option.name);
        if (is_list(option.values))
            print_words(option.values);
        else
            printf("%s", takes_file(&option) ? "FILE" : "NONE");
        printf("' ;;\n");
    }
    printf("        esac\n        ;;\n");
}

static void print_bash(void)
{
    printf("%s    if [[ $COMP_CWORD == 1 ]]; then\n        words='", bash_start);
    for (size_t i = 0; command_at(i); i++)
        printf("%s ", command_at(i)->name);
    printf("help --help --version'\n    fi\n    case $command in\n");
    for (size_t i = 0; command_at(i); i++)
        print_bash_command(command_at(i));
    printf("    esac\n"
           "    case \"$COMP_CWORD $command $cur\" in\n"
           "    *' -'*) ;;\n"
           "    '2 completion '*) words='bash zsh' ;;\n"
           "    '2 help '*) words='");
    for (size_t i = 0; command_at(i); i++)
        printf("%s%s", i ? " " : "", command_at(i)->name);
    printf("' ;;\n    esac\n%s", bash_end);
}

/* Text between single quotes, in which zsh's _arguments reads ":", "[" and "]" as its own. */
static void print_zsh_text(const char *text)
{
    for (; *text; text++) {
        if (strchr(":[]\\", *text))
            putchar('\\');
        if (*text == '\'')
            printf("'\\'");
        putchar(*text);
    }
}

/* What completes the option's value. */
static void print_zsh_values(const option_text *option)
{
    if (takes_file(option)) {
        printf("_files");
    } else if (is_list(option->values)) {
        int several = !strcmp(option->name, "draw");
        printf(several ? "_values -s , mode " : "(");
        print_words(option->values);
        printf(several ? "" : ")");
    }
}

static void print_zsh_command(const command_entry *entry)
{
    option_text option;
    printf("    %s)\n        _arguments \\\n", entry->name);
    for (int i = options_next(entry->command, -1, &option); i >= 0;
         i = options_next(entry->command, i, &option)) {
        if (!strcmp(option.name, "output"))
            printf("            '(-o --output)'{-o+,--output=}'[");
        else
            printf("            '--%s%s[", option.name, option.value ? "=" : "");
        print_zsh_text(option.help);
        printf("]");
        if (option.value) {
            printf(":");
            print_zsh_text(option.value);
            printf(":");
            print_zsh_values(&option);
        }
        printf("' \\\n");
    }
    printf(
        "            '(- *)'{-h,--help}'[list the options]' \\\n            '*:%s'\n        ;;\n",
        entry->command == COMMAND_COMPLETION ? "shell:(bash zsh)" : "file:_files");
}

static void print_zsh(void)
{
    printf("#compdef mvfield\n"
           "# zsh completion of mvfield, made by \"mvfield completion zsh\".\n"
           "local context state state_descr line\n"
           "typeset -A opt_args\n"
           "local -a commands=(\n");
    for (size_t i = 0; command_at(i); i++) {
        printf("    '%s:", command_at(i)->name);
        print_zsh_text(command_at(i)->summary);
        printf("'\n");
    }
    printf(
        ")\n"
        "_arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)--version[print the version]' "
        "\\\n    '1: :->command' '*:: :->words' && return\n"
        "case $state in\n"
        "command) _describe command commands ;;\n"
        "words)\n"
        "    case $words[1] in\n"
        "    help) _describe command commands ;;\n");
    for (size_t i = 0; command_at(i); i++)
        print_zsh_command(command_at(i));
    printf("    esac\n    ;;\nesac\n");
}

int command_completion(const cli_options *options)
{
    int is_zsh = !strcmp(options->input, "zsh");
    if (!is_zsh && strcmp(options->input, "bash")) {
        message_print(MVF_LOG_ERROR, "completion: %s: must be bash or zsh", options->input);
        return EXIT_USAGE;
    }
    (is_zsh ? print_zsh : print_bash)();
    return EXIT_ALL_FRAMES;
}
