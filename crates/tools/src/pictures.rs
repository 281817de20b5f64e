//! Pictures as models take them: those that are too large are scaled down.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, RgbImage};
use thiserror::Error;
use vocabulary::{ContentBlock, ToolOutput};

use crate::kind;
pub use crate::kind::picture as media_type;

/// Pixels of the longer side. Some services refuse larger ones as soon as there are many, and all
/// make them smaller before their models see them.
const SIDE_MAX: u32 = 2_000;
/// Bytes of a picture as base64. The strictest service takes 5 MB.
pub const BASE64_BYTES_MAX: usize = 4_500_000;
/// Memory for all pixels of one: 50 megapixels, and no bomb. It is known before any is unpacked.
const DECODED_BYTES_MAX: u64 = 200_000_000;
/// Tried from the first on, until it is small enough.
const SIDES: [u32; 4] = [SIDE_MAX, 1_400, 1_000, 700];
const JPEG_QUALITIES: [u8; 2] = [85, 60];

/// One at a time, so that many large ones do not fill the memory.
static UNPACKING: Mutex<()> = Mutex::new(());

/// A picture made small enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledPicture {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    pub width: u32,
    pub height: u32,
}

/// Why a picture cannot be shown to a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PictureError {
    #[error("it has {width} x {height} pixels, which is too much to scale down; make it smaller")]
    TooManyPixels { width: u32, height: u32 },
    #[error(
        "it is larger than models take and cannot be scaled down; make it smaller, or a PNG, JPEG, \
         GIF or WebP picture"
    )]
    NotScalable,
}

/// A picture as the result of a tool, scaled down where models would not take it; `given` is what the call
/// names it by. Blocks.
pub(crate) fn shown(bytes: &[u8], media_type: &str, given: &str) -> Result<ToolOutput, String> {
    let is = format!("{given} is {}", kind::describe(bytes));
    let scaled = scaled(bytes, BASE64_BYTES_MAX)
        .map_err(|why| format!("{is} and cannot be shown: {why}"))?;
    let (words, media_type, shown) = match &scaled {
        None => (format!("{is}:"), media_type, bytes),
        Some(scaled) => {
            let (width, height) = (scaled.width, scaled.height);
            let words = format!("{is}, shown scaled to {width} x {height} pixels:");
            (words, scaled.media_type, scaled.bytes.as_slice())
        }
    };
    Ok(ToolOutput::Content(vec![
        ContentBlock::Text(words),
        ContentBlock::Image {
            media_type: media_type.to_owned(),
            base64: BASE64_STANDARD.encode(shown).into(),
        },
    ]))
}

/// Makes a picture small enough for every service, and for so many bytes of base64. Nothing where it
/// is that already, or where only the service can know: a small one of another kind. Blocks.
pub fn scaled(bytes: &[u8], base64_max: usize) -> Result<Option<ScaledPicture>, PictureError> {
    let is_small = base64_bytes(bytes.len()) <= base64_max;
    let not_scalable = || match is_small {
        true => Ok(None),
        false => Err(PictureError::NotScalable),
    };
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let Some((reader, format)) = reader.ok().and_then(|reader| {
        let format = reader.format()?;
        Some((reader, format))
    }) else {
        return not_scalable();
    };
    // Reads what stands before the pixels.
    let Ok(mut decoder) = reader.into_decoder() else {
        return not_scalable();
    };
    let (width, height) = decoder.dimensions();
    if is_small && width.max(height) <= SIDE_MAX {
        return Ok(None);
    }
    if decoder.total_bytes() > DECODED_BYTES_MAX {
        return Err(PictureError::TooManyPixels { width, height });
    }
    let _alone = UNPACKING.lock().unwrap_or_else(PoisonError::into_inner);
    let turned = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|_| PictureError::NotScalable)?;
    // How it is to be turned stands beside the pixels, and is not written again.
    image.apply_orientation(turned);
    let lossy = format == ImageFormat::Jpeg;
    smaller(image, lossy, base64_max).map(Some)
}

fn smaller(
    mut image: DynamicImage,
    lossy: bool,
    base64_max: usize,
) -> Result<ScaledPicture, PictureError> {
    for side in SIDES {
        image = shrunk(image, side);
        let (width, height) = (image.width(), image.height());
        let fits = |bytes: &Vec<u8>| base64_bytes(bytes.len()) <= base64_max;
        let picture = |media_type, bytes| ScaledPicture {
            media_type,
            bytes,
            width,
            height,
        };
        // Letters stay sharp, where there is room.
        if !lossy && let Some(bytes) = png(&image).filter(fits) {
            return Ok(picture("image/png", bytes));
        }
        let opaque = on_white(&image);
        for quality in JPEG_QUALITIES {
            if let Some(bytes) = jpeg(&opaque, quality).filter(fits) {
                return Ok(picture("image/jpeg", bytes));
            }
        }
    }
    Err(PictureError::NotScalable)
}

/// With a longer side of at most so many pixels.
fn shrunk(image: DynamicImage, side: u32) -> DynamicImage {
    let longer = image.width().max(image.height());
    if longer <= side {
        return image;
    }
    // The good filter takes memory by the size of what it begins with, so a quick one goes first.
    let image = match longer > 2 * side {
        true => image.thumbnail(2 * side, 2 * side),
        false => image,
    };
    image.resize(side, side, FilterType::Lanczos3)
}

fn png(image: &DynamicImage) -> Option<Vec<u8>> {
    let eight_bits = match image.color().has_alpha() {
        true => DynamicImage::ImageRgba8(image.to_rgba8()),
        false => DynamicImage::ImageRgb8(image.to_rgb8()),
    };
    let mut bytes = Cursor::new(Vec::new());
    eight_bits.write_to(&mut bytes, ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}

fn jpeg(image: &RgbImage, quality: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
    image.write_with_encoder(encoder).ok()?;
    Some(bytes)
}

/// Without what shines through, which JPEG does not have.
fn on_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let source = image.to_rgba8();
    RgbImage::from_fn(source.width(), source.height(), |x, y| {
        let [red, green, blue, alpha] = source.get_pixel(x, y).0.map(u32::from);
        let over = |colour: u32| ((colour * alpha + 255 * (255 - alpha)) / 255) as u8;
        image::Rgb([over(red), over(green), over(blue)])
    })
}

fn base64_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

#[cfg(test)]
mod tests;
