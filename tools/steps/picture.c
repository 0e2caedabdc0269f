/* SPDX-License-Identifier: MIT */
/* Shows steps side by side, or one at a time. */
#include "picture.h"

#include "sentence.h"
#include "words.h"

#define SAID 1024

static const char arrow_head[] =
	"<defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" "
	"markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0L10,5L0,10z\" "
	"fill=\"#345\"/></marker></defs>\n";

bool steps_picture_has(const struct steps_walk *walk, int step)
{
	return step == 0 || walk->steps[step].end > walk->steps[step].begin;
}

static int count_shown(const struct steps_walk *walk)
{
	int count = 0;
	for (int step = 0; step < walk->step_count; step++)
		count += steps_picture_has(walk, step);
	return count;
}

void steps_picture_head(FILE *out)
{
	fprintf(out, "<svg width=\"0\" height=\"0\">%s</svg>\n", arrow_head);
}

/* Escapes > and &; no other character needs it. */
static void put_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			fputc(*text, out);
	}
}

/* ---- SVG ----------------------------------------------------------------------------------- */

void steps_picture_svg(const struct steps_walk *walk, const struct steps_cells *cells,
		       struct steps_state *state, FILE *out)
{
	struct steps_layout layout = steps_layout_of(walk, cells, state, false);
	int shown = count_shown(walk), columns = shown < 3 ? shown : 3, at = 0;
	int rows = (shown + columns - 1) / columns;
	char title[SAID];
	steps_say_title(walk, title, sizeof(title));
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"steps\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
		columns * layout.width, rows * layout.height + 40, columns * layout.width,
		rows * layout.height + 40);
	put_text(title, out);
	fputs("</title>\n", out);
	steps_draw_style(out);
	fputs(arrow_head, out);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text class=\"title\" "
	      "x=\"50%\" y=\"28\">",
	      out);
	put_text(title, out);
	fputs("</text>\n", out);
	for (int step = 0; step < walk->step_count; step++) {
		steps_state_apply(walk, step, state);
		if (!steps_picture_has(walk, step))
			continue;
		fprintf(out, "<g transform=\"translate(%.1f,%.1f)\">\n",
			at % columns * layout.width, at / columns * layout.height + 40);
		steps_draw(walk, cells, state, &layout, step, out);
		fputs("</g>\n", out);
		at++;
	}
	fputs("</svg>\n", out);
	steps_state_reset(walk, state);
}

/* ---- HTML ---------------------------------------------------------------------------------- */

static const char page_style[] =
	"<style>\n"
	"body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:1100px;margin:2em auto;"
	"padding:0 1em}\n"
	"h1{font-size:1.3em}\n"
	".bar{display:flex;gap:.7em;align-items:center;position:sticky;top:0;background:#fff;"
	"padding:.6em 0;border-bottom:1px solid #ddd}\n"
	".bar input{flex:1}\n"
	".bar output{min-width:6em}\n"
	"button{font:inherit;padding:.2em .8em}\n"
	"svg{display:block;margin:0 auto;max-width:100%;height:auto}\n"
	"table{border-collapse:collapse;margin:0 auto}\n"
	"td,th{text-align:left;padding:.15em .9em;border-bottom:1px solid "
	"#eee;vertical-align:top}\n"
	"td{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px}\n"
	"section[hidden]{display:none}\n"
	"</style>\n";

static const char page_script[] =
	"<script>\n"
	"const steps = [...document.querySelectorAll('section')]\n"
	"const slider = document.getElementById('slider'), said = document.getElementById('said')\n"
	"let timer = 0\n"
	"function show(step) {\n"
	"  step = Math.max(0, Math.min(steps.length - 1, step))\n"
	"  steps.forEach((section, i) => section.hidden = i !== step)\n"
	"  slider.value = step\n"
	"  said.textContent = steps[step].dataset.name\n"
	"}\n"
	"function pause() {\n"
	"  clearInterval(timer)\n"
	"  timer = 0\n"
	"  document.getElementById('play').textContent = 'play'\n"
	"}\n"
	"function move(by) { pause(); show(+slider.value + by) }\n"
	"function play() {\n"
	"  if (timer) return pause()\n"
	"  if (+slider.value === steps.length - 1) show(0)\n"
	"  document.getElementById('play').textContent = 'pause'\n"
	"  timer = setInterval(() => {\n"
	"    show(+slider.value + 1)\n"
	"    if (+slider.value === steps.length - 1) pause()\n"
	"  }, 1200)\n"
	"}\n"
	"slider.oninput = () => { pause(); show(+slider.value) }\n"
	"document.getElementById('back').onclick = () => move(-1)\n"
	"document.getElementById('forth').onclick = () => move(1)\n"
	"document.getElementById('play').onclick = play\n"
	"document.onkeydown = event => {\n"
	"  if (event.target === slider) return\n"
	"  if (event.key === 'ArrowLeft') move(-1)\n"
	"  if (event.key === 'ArrowRight') move(1)\n"
	"}\n"
	"show(+location.hash.slice(1) || 0)\n"
	"</script>\n";

static void put_events(const struct steps_walk *walk, const struct steps_cells *cells, int step,
		       int rank, bool incoming, FILE *out)
{
	char what[SAID], time[32];
	fputs("<td>", out);
	for (size_t e = walk->steps[step].begin; e < walk->steps[step].end; e++) {
		const struct steps_event *event = &walk->events[e];
		if (event->rank != rank || event->incoming != incoming)
			continue;
		steps_say_event(walk, cells, event, true, what);
		put_text(what, out);
		if (!incoming)
			fprintf(out, " to %d", event->entry.peer);
		fprintf(out, "%s<br>", steps_say_time(event, time));
	}
}

void steps_picture_rows(const struct steps_walk *walk, const struct steps_cells *cells, int step,
			FILE *out)
{
	if (walk->steps[step].end == walk->steps[step].begin)
		return;
	fputs("<table><tr><th>rank<th>sends<th>gets and does\n", out);
	for (int rank = 0; rank < walk->choice.ranks; rank++) {
		fprintf(out, "<tr><td>%d", rank);
		put_events(walk, cells, step, rank, false, out);
		put_events(walk, cells, step, rank, true, out);
		fputc('\n', out);
	}
	fputs("</table>\n", out);
}

static void put_paragraph(const char *text, FILE *out)
{
	fputs("<p>", out);
	put_text(text, out);
	fputc('\n', out);
}

/* Writes the words before the pictures. */
static void put_words(const struct steps_walk *walk, const struct steps_cells *cells, FILE *out)
{
	char text[SAID];
	put_paragraph(steps_say_how(&walk->choice), out);
	steps_say_names(walk, cells, true, text, sizeof(text));
	put_paragraph(text, out);
	steps_say_bytes(walk, text, sizeof(text));
	put_paragraph(text, out);
}

static void put_head(const struct steps_walk *walk, FILE *out)
{
	char text[SAID];
	steps_say_title(walk, text, sizeof(text));
	fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      out);
	put_text(text, out);
	fputs("</title>\n", out);
	fputs(page_style, out);
	steps_draw_style(out);
	fputs("<h1>", out);
	put_text(text, out);
	fputs("</h1>\n", out);
}

static void put_bar(const struct steps_walk *walk, FILE *out)
{
	fprintf(out,
		"<div class=\"bar\"><button id=\"back\" aria-label=\"one step "
		"back\">&#9664;</button>"
		"<input id=\"slider\" type=\"range\" min=\"0\" max=\"%d\" value=\"0\" "
		"aria-label=\"step\">"
		"<button id=\"forth\" aria-label=\"one step on\">&#9654;</button>"
		"<button id=\"play\">play</button>"
		"<output id=\"said\"></output></div>\n",
		count_shown(walk) - 1);
}

void steps_picture_step(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_state *state, const struct steps_layout *layout,
			int step, FILE *out)
{
	fprintf(out,
		"<svg class=\"steps\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		layout->width, layout->height, layout->width, layout->height);
	steps_draw(walk, cells, state, layout, step, out);
	fputs("</svg>\n", out);
}

static void put_section(const struct steps_walk *walk, const struct steps_cells *cells,
			const struct steps_state *state, const struct steps_layout *layout,
			int step, FILE *out)
{
	char name[64], sentence[SAID];
	steps_say_step(walk, step, name, sizeof(name));
	fprintf(out, "<section data-name=\"%s\"%s>\n", name, step > 0 ? " hidden" : "");
	steps_picture_step(walk, cells, state, layout, step, out);
	steps_say_all(walk, cells, step, sentence, sizeof(sentence));
	put_paragraph(sentence, out);
	steps_picture_rows(walk, cells, step, out);
	fputs("</section>\n", out);
}

static void put_steps(const struct steps_walk *walk, const struct steps_cells *cells,
		      struct steps_state *state, FILE *out)
{
	struct steps_layout layout = steps_layout_of(walk, cells, state, false);
	steps_picture_head(out);
	for (int step = 0; step < walk->step_count; step++) {
		steps_state_apply(walk, step, state);
		if (steps_picture_has(walk, step))
			put_section(walk, cells, state, &layout, step, out);
	}
	steps_state_reset(walk, state);
}

void steps_picture_html(const struct steps_walk *walk, const struct steps_cells *cells,
			struct steps_state *state, FILE *out)
{
	put_head(walk, out);
	put_words(walk, cells, out);
	put_bar(walk, out);
	put_steps(walk, cells, state, out);
	fputs(page_script, out);
	fputs("</html>\n", out);
}
