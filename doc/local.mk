# The manual: pages in Markdown, made into manual pages; the options of a command are those of its
# --help.
manual = doc/manual/libmvfield.md doc/manual/man.awk doc/manual/mvfield.md \
	doc/manual/mvfield-bench.md doc/manual/mvfield-compare.md doc/manual/mvfield-completion.md \
	doc/manual/mvfield-extract.md doc/manual/mvfield-info.md doc/manual/mvfield-merge.md \
	doc/manual/mvfield-overlay.md \
	doc/manual/mvfield-report.md doc/manual/mvfield-stats.md
EXTRA_DIST += $(manual)
dist_doc_DATA = doc/formats.md doc/mvf-format.md
EXTRA_DIST += doc/gallery.md doc/scale-out.md
man_awk = $(top_srcdir)/doc/manual/man.awk
make_man = $(AWK) -v version='$(PACKAGE_STRING)'

man_MANS = doc/manual/libmvfield.3 doc/manual/mvfield.5
CLEANFILES += $(man_MANS)
doc/manual/libmvfield.3: doc/manual/libmvfield.md $(man_awk) Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(make_man) -f $(man_awk) \
		$(top_srcdir)/doc/manual/libmvfield.md > $@.tmp && mv $@.tmp $@
doc/manual/mvfield.5: doc/formats.md doc/mvf-format.md $(man_awk) Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(make_man) -v title='mvfield(5): the files that mvfield writes' \
		-f $(man_awk) $(top_srcdir)/doc/formats.md $(top_srcdir)/doc/mvf-format.md > $@.tmp && \
		mv $@.tmp $@

# These are made by running the command, which a cross-compiled one cannot.
if HAVE_COMMAND_PAGES
command_pages = doc/manual/mvfield.1 doc/manual/mvfield-bench.1 doc/manual/mvfield-compare.1 \
	doc/manual/mvfield-completion.1 doc/manual/mvfield-extract.1 doc/manual/mvfield-info.1 doc/manual/mvfield-merge.1 \
	doc/manual/mvfield-overlay.1 doc/manual/mvfield-report.1 doc/manual/mvfield-stats.1
man_MANS += $(command_pages)
$(command_pages): %.1: %.md $(man_awk) src/cli/mvfield$(EXEEXT) Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && command=`basename $@ .1 | $(SED) 's/^mvfield-*//'` && \
		./src/cli/mvfield $$command --help > $@.help && \
		$(make_man) -v help=$@.help -f $(man_awk) $< > $@.tmp && mv $@.tmp $@ && rm $@.help

bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = doc/completion/mvfield
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = doc/completion/_mvfield
CLEANFILES += $(nodist_bashcompletion_DATA) $(nodist_zshcompletion_DATA)
doc/completion/mvfield: src/cli/mvfield$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./src/cli/mvfield completion bash > $@.tmp && mv $@.tmp $@
doc/completion/_mvfield: src/cli/mvfield$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./src/cli/mvfield completion zsh > $@.tmp && mv $@.tmp $@
endif

# The API reference, for which doxygen is needed: doc/api/html.
EXTRA_DIST += doc/api/Doxyfile doc/api/filter.awk
api:
	$(AM_V_GEN)$(MKDIR_P) doc/api/html && SOURCE='$(abs_top_srcdir)' OUTPUT=doc/api/html \
		doxygen $(top_srcdir)/doc/api/Doxyfile
clean-local:
	rm -rf doc/api/html
